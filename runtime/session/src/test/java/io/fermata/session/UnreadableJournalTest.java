package io.fermata.session;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.persistence.Store;
import io.fermata.session.TestHost.Client;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What this release does not know it refuses, for that session alone, and leaves it as it is. */
class UnreadableJournalTest {
  @TempDir Path dir;

  private Path file() {
    return dir.resolve("test.db");
  }

  /** A record as it lies in the file. */
  @SuppressWarnings("ArrayRecordComponent") // nobody compares rows
  private record Row(long ordering, String manifest, byte[] payload) {}

  /** The first record of the oldest session. */
  private Row first() throws SQLException {
    try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file());
        PreparedStatement select =
            connection.prepareStatement(
                "select ordering, event_ser_manifest, event_payload from event_journal"
                    + " order by ordering limit 1");
        ResultSet row = select.executeQuery()) {
      return new Row(row.getLong(1), row.getString(2), row.getBytes(3));
    }
  }

  private void put(Row row) throws SQLException {
    try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file());
        PreparedStatement update =
            connection.prepareStatement(
                "update event_journal set event_ser_manifest = ?, event_payload = ?"
                    + " where ordering = ?")) {
      update.setString(1, row.manifest());
      update.setBytes(2, row.payload());
      update.setLong(3, row.ordering());
      assertThat(update.executeUpdate()).isEqualTo(1);
    }
  }

  private static Row changed(Row row, UnaryOperator<ObjectNode> change) throws Exception {
    JsonNode tree = JournalSerializer.MAPPER.readTree(row.payload());
    byte[] payload = JournalSerializer.MAPPER.writeValueAsBytes(change.apply((ObjectNode) tree));
    return new Row(row.ordering(), row.manifest(), payload);
  }

  private static String code(ToolReply reply) {
    return reply.structured().path("code").asText();
  }

  private void isRefused(Row strange, Client client, Client other, TestHost host) throws Exception {
    Row known = first();
    put(strange);
    host.restart();
    assertThat(code(client.proceed())).isEqualTo("journal_unreadable");
    assertThat(code(client.proceed())).isEqualTo("journal_unreadable");
    assertThat(other.proceed().structured().path("field").asText()).isEqualTo("to");
    assertThat(host.fermata().awake().toCompletableFuture().get()).isEqualTo(1);
    assertThat(first().payload()).isEqualTo(strange.payload());
    host.fermata().close();
    put(known);
    host.restart();
    assertThat(client.proceed().structured().path("field").asText()).isEqualTo("to");
  }

  @Test
  void aRecordAnEventOrAPartOfALaterReleaseIsRefusedUntilThatReleaseIsBack() throws Exception {
    try (TestHost host = new TestHost(Store.sqlite(file()), TestFlows.trip())) {
      Client client = host.client();
      client.start("from", "Ulm");
      Client other = host.client();
      other.start("from", "Rom");
      host.fermata().close();
      Row known = first();

      isRefused(new Row(known.ordering(), "step:9", known.payload()), client, other, host);
      host.fermata().close();
      isRefused(
          changed(
              known,
              tree -> {
                ((ObjectNode) tree.path("events").get(0)).put("e", "teleported");
                return tree;
              }),
          client,
          other,
          host);
      host.fermata().close();
      isRefused(changed(known, tree -> tree.put("mood", "fine")), client, other, host);
    }
  }
}
