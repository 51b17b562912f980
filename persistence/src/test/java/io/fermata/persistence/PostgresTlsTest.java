package io.fermata.persistence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.persistence.contract.Host;
import io.fermata.persistence.contract.Note;
import io.fermata.persistence.spi.StoreException;
import io.fermata.postgres.PostgresServer;
import io.fermata.tls.TestAuthority;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Connections to a real server that has a certificate of a private authority. */
@Tag("slow")
final class PostgresTlsTest {

  @TempDir static Path folder;

  @SuppressWarnings("NullAway.Init")
  private static TestAuthority authority;

  @SuppressWarnings("NullAway.Init")
  private static PostgresServer server;

  private final PostgresProbe database = PostgresProbe.of(server);

  @BeforeAll
  static void aServerWithACertificate() throws Exception {
    authority = TestAuthority.in(folder.resolve("ours"));
    TestAuthority.Identity identity = authority.issue("localhost");
    server = PostgresServer.start();
    server.offerTls(identity.certificate(), identity.key());
  }

  @AfterAll
  static void close() {
    server.close();
  }

  private String address(String host, Path trusted) {
    return database.address().replace("fermata@127.0.0.1", "fermata:hidden@" + host)
        + "?sslmode=verify-full&sslrootcert="
        + trusted;
  }

  private void refuses(String address, String... reasons) {
    assertThatThrownBy(() -> Store.postgres(address).open())
        .isInstanceOf(StoreException.class)
        .hasMessageContainingAll(reasons)
        .hasMessageNotContaining("hidden");
  }

  @Test
  void everyConnectionToTheServerThatWasMeantIsEncrypted() throws Exception {
    try (Host host = Host.on(Store.postgres(address("localhost", authority.certificate())))) {
      host.open("private").write(new Note.Line("kept in private"));
      assertThat(
              database.number(
                  "SELECT count(*) FROM pg_stat_activity JOIN pg_stat_ssl USING (pid)"
                      + " WHERE datname = ? AND usename = 'fermata' AND ssl",
                  database.database()))
          .isPositive();
      assertThat(
              database.number(
                  "SELECT count(*) FROM pg_stat_activity JOIN pg_stat_ssl USING (pid)"
                      + " WHERE datname = ? AND usename = 'fermata' AND NOT ssl",
                  database.database()))
          .isZero();
    }
  }

  @Test
  void aServerThatAnotherAuthorityCertifiedIsRefused() throws Exception {
    refuses(
        address("localhost", TestAuthority.in(folder.resolve("theirs")).certificate()),
        "has a certificate that does not verify for localhost",
        "PKIX path",
        "sslrootcert=<file>");
  }

  @Test
  void aServerOfAnotherNameIsRefused() {
    refuses(
        address("127.0.0.1", authority.certificate()),
        "The hostname 127.0.0.1 could not be verified",
        "use the host name of the certificate");
  }

  @Test
  void anAuthorityThatIsNotThereIsNamed() {
    refuses(
        address("localhost", folder.resolve("missing.pem")),
        "Could not open SSL root certificate file",
        "the network and sslmode");
  }

  @Test
  void aServerWithoutTlsIsRefusedWhereItWasAskedFor() {
    PostgresProbe plain = PostgresProbe.fresh();
    refuses(
        plain.address() + "?sslmode=verify-full",
        "does not support SSL",
        "the network and sslmode");
  }
}
