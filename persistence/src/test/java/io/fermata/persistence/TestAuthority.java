package io.fermata.persistence;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;

/** A certificate authority of a test's own, made by the JDK's keytool. */
record TestAuthority(Path folder) {

  private static final String PASSWORD = "changeit";

  /** A server's certificate and its key, as files in PEM. */
  record Identity(Path certificate, Path key) {}

  static TestAuthority in(Path folder) throws Exception {
    TestAuthority authority = new TestAuthority(Files.createDirectories(folder));
    authority.generate("ca", "-ext", "bc:critical=ca:true");
    authority.write("ca.pem", "CERTIFICATE", authority.keys().getCertificate("ca").getEncoded());
    return authority;
  }

  Path certificate() {
    return folder.resolve("ca.pem");
  }

  /** Certifies a server of that name. */
  Identity issue(String host) throws Exception {
    generate("server", "-signer", "ca", "-ext", "san=dns:" + host);
    KeyStore keys = keys();
    return new Identity(
        write("server.pem", "CERTIFICATE", keys.getCertificate("server").getEncoded()),
        write(
            "server.key",
            "PRIVATE KEY",
            keys.getKey("server", PASSWORD.toCharArray()).getEncoded()));
  }

  private void generate(String alias, String... more) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "keytool").toString());
    command.addAll(List.of("-genkeypair", "-alias", alias, "-dname", "CN=" + alias));
    command.addAll(List.of("-keyalg", "EC", "-groupname", "secp256r1", "-validity", "2"));
    command.addAll(List.of("-storetype", "PKCS12", "-keystore", keystore().toString()));
    command.addAll(List.of("-storepass", PASSWORD));
    command.addAll(List.of(more));
    Process keytool = new ProcessBuilder(command).redirectErrorStream(true).start();
    String said = new String(keytool.getInputStream().readAllBytes(), UTF_8);
    if (keytool.onExit().join().exitValue() != 0) {
      throw new IOException("keytool failed: " + said);
    }
  }

  private Path keystore() {
    return folder.resolve("keys.p12");
  }

  private KeyStore keys() throws IOException, GeneralSecurityException {
    return KeyStore.getInstance(keystore().toFile(), PASSWORD.toCharArray());
  }

  private Path write(String name, String what, byte[] content) throws IOException {
    String text = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(content);
    return Files.writeString(
        folder.resolve(name),
        "-----BEGIN " + what + "-----\n" + text + "\n-----END " + what + "-----\n");
  }
}
