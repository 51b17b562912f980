package io.fermata.examples.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.examples.ServerProcess;
import io.fermata.flow.json.Json;
import io.fermata.postgres.PostgresServer;
import io.fermata.tls.TestAuthority;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Servers that talk by TLS with each other, as the manifests start them. */
@Tag("slow")
@Tag("long")
@Timeout(900)
class SecureClusterTest {
  private static final int CHATS = 8;
  private static final Pattern ADDRESS = Pattern.compile("@127\\.0\\.0\\.1:(\\d+)$");

  @TempDir private Path folder = Path.of("");
  private final String database = PostgresServer.shared().newDatabase();
  private final List<ServerProcess> servers = new ArrayList<>();
  private Path certificate = folder;

  @BeforeEach
  void certify() throws Exception {
    TestAuthority authority = TestAuthority.in(folder.resolve("ours"));
    certificate = authority.mounted(authority.issue("fermata"));
  }

  @AfterEach
  void end() {
    servers.forEach(ServerProcess::close);
  }

  private Path home(String name) throws Exception {
    return Files.createDirectories(folder.resolve(name));
  }

  private String[] serve(String... more) {
    List<String> options = new ArrayList<>(List.of("serve", "--port", "0", "--cluster"));
    options.addAll(List.of("--store", database));
    options.addAll(List.of(more));
    return options.toArray(String[]::new);
  }

  private ServerProcess start(String name) throws Exception {
    ServerProcess server =
        ServerProcess.start(home(name), serve("--cluster-tls", certificate.toString()));
    servers.add(server);
    return server;
  }

  private String log(String name) throws Exception {
    return Files.readString(folder.resolve(name).resolve("errors.txt"));
  }

  private static JsonNode call(ServerProcess server, String chat, ObjectNode arguments)
      throws Exception {
    ObjectNode params = Json.object().put("name", "quote");
    params.putObject("_meta").put("threadId", chat);
    params.set("arguments", arguments);
    return server.result("tools/call", params).path("structuredContent");
  }

  private static JsonNode answer(ServerProcess server, String chat, String... answers)
      throws Exception {
    ObjectNode arguments = Json.object().put("action", "continue");
    ObjectNode updates = arguments.putObject("stateUpdates");
    for (int i = 0; i < answers.length; i += 2) {
      updates.put(answers[i], answers[i + 1]);
    }
    return call(server, chat, arguments);
  }

  private static void says(JsonNode reply, String field, String value) {
    assertThat(reply.path(field).asText()).as(reply.toString()).isEqualTo(value);
  }

  @Test
  void serversWithACertificateOfOneAuthorityAreAClusterAndOthersAreRefused() throws Exception {
    ServerProcess a = start("a");
    ServerProcess b = start("b");
    assertThat(presented()).containsExactly(read(certificate.resolve("tls.crt")));

    TestAuthority other = TestAuthority.in(folder.resolve("theirs"));
    String theirs = other.mounted(other.issue("fermata")).toString();
    Process stranger = ServerProcess.run(home("stranger"), serve("--cluster-tls", theirs));
    Process plain = ServerProcess.run(home("plain"), serve());
    try {
      // Of so many sessions each server has some, so that calls cross from one to the other.
      for (int i = 0; i < CHATS; i++) {
        String chat = "chat-" + i;
        call(a, chat, Json.object().put("action", "start").put("intent", "wants a price"));
        JsonNode next = answer(b, chat, "name", "Ann", "email", "ann@acme.com");
        says(next, "field", "companySize");
      }
      for (Process refused : List.of(stranger, plain)) {
        assertThat(refused.waitFor(600, TimeUnit.SECONDS)).isTrue();
        assertThat(refused.exitValue()).as("a store or server cannot be used").isEqualTo(3);
      }
      for (String name : List.of("stranger", "plain")) {
        assertThat(log(name).lines())
            .filteredOn(line -> line.startsWith("The hosts of the cluster, pekko://"))
            .singleElement()
            .asString()
            .contains("could not be reached from this one", "use the same transport and cert")
            .doesNotContain("Exception");
      }
    } finally {
      stranger.destroyForcibly();
      plain.destroyForcibly();
    }

    for (int i = 0; i < CHATS; i++) {
      String chat = "chat-" + i;
      says(answer(a, chat, "companySize", "11-50"), "tool", "show_plans");
      says(answer(b, chat, "selectedPlan", "gold"), "status", "complete");
    }
    assertThat(connections()).as("twelve for each host").isLessThanOrEqualTo(2 * 12);
    assertThat(b.endsWhenAsked()).isTrue();
    assertThat(a.endsWhenAsked()).isTrue();
  }

  private static Certificate read(Path file) throws Exception {
    try (InputStream in = Files.newInputStream(file)) {
      return CertificateFactory.getInstance("X.509").generateCertificate(in);
    }
  }

  /** The certificate that the servers show where other servers reach them. */
  private Set<Certificate> presented() throws Exception {
    KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
    trusted.load(null);
    trusted.setCertificateEntry("ca", read(certificate.resolve("ca.crt")));
    TrustManagerFactory trust =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(trusted);
    SSLContext context = SSLContext.getInstance("TLSv1.3");
    context.init(null, trust.getTrustManagers(), null);
    Set<Certificate> presented = new HashSet<>();
    for (int port : ports()) {
      try (SSLSocket socket =
          (SSLSocket) context.getSocketFactory().createSocket("127.0.0.1", port)) {
        socket.startHandshake();
        presented.add(socket.getSession().getPeerCertificates()[0]);
      }
    }
    return presented;
  }

  private long connections() {
    return PostgresServer.shared()
        .number(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = '%s'"
                .formatted(PostgresServer.database(database)));
  }

  /** Where the servers wrote that the others reach them. */
  private List<Integer> ports() throws Exception {
    List<Integer> ports = new ArrayList<>();
    try (Connection connection =
            PostgresServer.shared().connect(PostgresServer.database(database));
        Statement statement = connection.createStatement();
        ResultSet hosts = statement.executeQuery("SELECT address FROM cluster_host")) {
      while (hosts.next()) {
        Matcher address = ADDRESS.matcher(hosts.getString(1));
        assertThat(address.find()).as(hosts.getString(1)).isTrue();
        ports.add(Integer.valueOf(address.group(1)));
      }
    }
    assertThat(ports).hasSize(2);
    return ports;
  }
}
