package io.fermata.session.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.tls.TestAuthority;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is wrong with a certificate is said at the start, and by the file that has to change. */
@Tag("slow")
@Tag("long")
class ClusterTlsTest {
  @TempDir private static Path folder = Path.of("");
  private static TestAuthority authority = new TestAuthority(folder);
  private static TestAuthority.Identity identity = new TestAuthority.Identity(folder, folder);

  @BeforeAll
  static void certify() throws Exception {
    authority = TestAuthority.in(folder.resolve("ours"));
    identity = authority.issue("fermata");
  }

  private static void refused(Path directory, String... why) {
    assertThatThrownBy(() -> ClusterTls.config(directory))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContainingAll(why);
  }

  private static void replace(Path file, Path by) throws Exception {
    Files.copy(by, file, StandardCopyOption.REPLACE_EXISTING);
  }

  @Test
  void aCertificateOfAnAuthorityIsUsed() throws Exception {
    Path directory = authority.mounted(identity);
    assertThat(ClusterTls.config(directory).getString("pekko.remote.artery.transport"))
        .isEqualTo("tls-tcp");
  }

  @Test
  void aFileThatIsMissingIsNamed() throws Exception {
    for (String name : new String[] {"ca.crt", "tls.crt", "tls.key"}) {
      Path directory = authority.mounted(identity);
      Files.delete(directory.resolve(name));
      refused(directory, directory.resolve(name) + ": there is no such file");
    }
  }

  @Test
  void aFileOfAnotherKindIsNamed() throws Exception {
    for (String name : new String[] {"ca.crt", "tls.crt"}) {
      Path directory = authority.mounted(identity);
      replace(directory.resolve(name), identity.key());
      refused(directory, directory.resolve(name) + ": it is no certificate in PEM");
    }
    Path directory = authority.mounted(identity);
    replace(directory.resolve("tls.key"), identity.certificate());
    refused(directory, directory.resolve("tls.key") + ": it is no private RSA key");
  }

  @Test
  void onlyKeysThatPekkoReadsAreAccepted() throws Exception {
    Path directory = authority.mounted(authority.issueEc("curve"));
    refused(directory, "tls.key: it is no private RSA key", "PKCS#1 or PKCS#8");
  }

  @Test
  void theKeyOfAnotherCertificateIsRefused() throws Exception {
    Path directory = authority.mounted(identity);
    replace(directory.resolve("tls.key"), authority.issue("other").key());
    refused(directory, "tls.key: it is not the key of tls.crt");
  }

  @Test
  void aCertificateOfAnotherAuthorityIsRefused() throws Exception {
    Path directory = authority.mounted(identity);
    replace(directory.resolve("ca.crt"), TestAuthority.in(folder.resolve("theirs")).certificate());
    refused(directory, "tls.crt: ca.crt has not signed it");
  }

  @Test
  void aCertificateThatHasExpiredIsRefused() throws Exception {
    refused(authority.mounted(authority.issueExpired("old")), "tls.crt: ", "valid now", "renew it");
  }
}
