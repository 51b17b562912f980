package io.fermata.session.cluster;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.PrivateKey;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.interfaces.RSAKey;
import java.util.Map;
import org.apache.pekko.pki.pem.DERPrivateKeyLoader;
import org.apache.pekko.pki.pem.PEMDecoder;
import org.apache.pekko.remote.artery.tcp.ssl.RotatingKeysSSLEngineProvider;
import org.jspecify.annotations.Nullable;

/**
 * The certificate by which the hosts of a cluster encrypt and recognize each other: the files that
 * cert-manager and the like write and renew. Pekko reads them at the first connection, where a
 * mistake would only show as a host that cannot be reached; so they are checked here before.
 */
final class ClusterTls {
  private ClusterTls() {}

  /**
   * The configuration of Pekko for a directory with a certificate.
   *
   * @throws IllegalStateException if the files do not make a certificate that hosts can use
   */
  static Config config(Path directory) {
    Path authorityFile = directory.resolve("ca.crt").toAbsolutePath();
    Path certificateFile = directory.resolve("tls.crt").toAbsolutePath();
    Path keyFile = directory.resolve("tls.key").toAbsolutePath();
    X509Certificate authority = certificate(authorityFile);
    X509Certificate certificate = certificate(certificateFile);
    if (!isOf(certificate, privateKey(keyFile))) {
      throw unusable(
          keyFile, "it is not the key of tls.crt", "mount the two of one certificate", null);
    }
    try {
      certificate.verify(authority.getPublicKey());
    } catch (GeneralSecurityException e) {
      throw unusable(
          certificateFile,
          "ca.crt has not signed it",
          "mount the certificate of the authority that signed it, without one between them",
          e);
    }
    String engine = "pekko.remote.artery.ssl.rotating-keys-engine.";
    return ConfigFactory.parseMap(
        Map.of(
            "pekko.remote.artery.transport",
            "tls-tcp",
            "pekko.remote.artery.ssl.ssl-engine-provider",
            RotatingKeysSSLEngineProvider.class.getName(),
            engine + "ca-cert-file",
            authorityFile.toString(),
            engine + "cert-file",
            certificateFile.toString(),
            engine + "key-file",
            keyFile.toString()));
  }

  private static X509Certificate certificate(Path file) {
    try (InputStream in = Files.newInputStream(file)) {
      X509Certificate certificate =
          (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(in);
      certificate.checkValidity();
      return certificate;
    } catch (IOException e) {
      throw unreadable(file, e);
    } catch (CertificateException e) {
      throw unusable(
          file,
          "it is no certificate in PEM that is valid now, " + e.getMessage(),
          "renew it, or set the clock",
          e);
    }
  }

  private static PrivateKey privateKey(Path file) {
    try {
      return DERPrivateKeyLoader.load(PEMDecoder.decode(Files.readString(file)));
    } catch (IOException e) {
      throw unreadable(file, e);
    } catch (Exception e) { // the loader, in Scala, declares none of those of the JDK
      throw unusable(
          file,
          "it is no private RSA key in PEM",
          "write one without a password, in PKCS#1 or PKCS#8",
          e);
    }
  }

  private static boolean isOf(X509Certificate certificate, PrivateKey key) {
    return certificate.getPublicKey() instanceof RSAKey open
        && key instanceof RSAKey secret
        && open.getModulus().equals(secret.getModulus());
  }

  private static IllegalStateException unreadable(Path file, IOException e) {
    return unusable(
        file,
        e instanceof NoSuchFileException ? "there is no such file" : e.toString(),
        "the directory needs tls.crt, tls.key and ca.crt, readable by this process",
        e);
  }

  private static IllegalStateException unusable(
      Path file, String reason, String repair, @Nullable Exception cause) {
    return new IllegalStateException(
        "The hosts of the cluster cannot talk by TLS with %s: %s; %s"
            .formatted(file, reason, repair),
        cause);
  }
}
