package io.fermata.examples.deploy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.introspect.Annotated;
import com.fasterxml.jackson.databind.introspect.JacksonAnnotationIntrospector;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.ContainerPort;
import io.fabric8.kubernetes.api.model.EnvVar;
import io.fabric8.kubernetes.api.model.HTTPGetAction;
import io.fabric8.kubernetes.api.model.IntOrString;
import io.fabric8.kubernetes.api.model.LabelSelector;
import io.fabric8.kubernetes.api.model.PodSpec;
import io.fabric8.kubernetes.api.model.Probe;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.Secret;
import io.fabric8.kubernetes.api.model.Service;
import io.fabric8.kubernetes.api.model.Volume;
import io.fabric8.kubernetes.api.model.VolumeMount;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.api.model.autoscaling.v2.HorizontalPodAutoscaler;
import io.fabric8.kubernetes.api.model.networking.v1.NetworkPolicy;
import io.fabric8.kubernetes.api.model.policy.v1.PodDisruptionBudget;
import io.fermata.examples.flows.QuoteFlow;
import io.fermata.mcp.McpServer;
import io.fermata.persistence.Store;
import io.fermata.session.call.DisplayTool;
import io.fermata.testkit.SessionProbe;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import picocli.CommandLine.ParseResult;

/** The manifests, read as Kubernetes reads them and compared with the server that they start. */
class ManifestsTest {
  private static final Map<String, Class<?>> KINDS =
      Stream.of(
              Deployment.class,
              Service.class,
              Secret.class,
              PodDisruptionBudget.class,
              HorizontalPodAutoscaler.class,
              NetworkPolicy.class)
          .collect(Collectors.toMap(Class::getSimpleName, Function.identity()));

  /** The model keeps what it does not know; without that, it is an error. */
  private static final ObjectMapper STRICT =
      JsonMapper.builder()
          .enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION)
          .annotationIntrospector(
              new JacksonAnnotationIntrospector() {
                private static final long serialVersionUID = 1L;

                @Override
                public Boolean hasAnySetter(Annotated any) {
                  return false;
                }
              })
          .build();

  private final List<JsonNode> documents =
      Stream.of("kubernetes/fermata.yaml", "kubernetes/secret.yaml")
          .flatMap(file -> Deployed.yaml(file).stream())
          .toList();

  private static Object read(JsonNode document) {
    Class<?> type = KINDS.get(document.path("kind").asText());
    assertThat(type).as(document.path("kind").asText()).isNotNull();
    return STRICT.convertValue(document, type);
  }

  private <T> T the(Class<T> type) {
    return type.cast(
        read(
            documents.stream()
                .filter(document -> document.path("kind").asText().equals(type.getSimpleName()))
                .findFirst()
                .orElseThrow()));
  }

  private PodSpec pod() {
    return the(Deployment.class).getSpec().getTemplate().getSpec();
  }

  private Container container() {
    return pod().getContainers().get(0);
  }

  private ParseResult serve() {
    return Deployed.serve(container().getArgs());
  }

  @Test
  void kubernetesKnowsEveryField() {
    assertThat(documents).hasSize(KINDS.size());
    for (JsonNode document : documents) {
      Object read = read(document);
      JsonNode again = STRICT.valueToTree(read);
      assertThat(again.at("/apiVersion")).isEqualTo(document.at("/apiVersion"));
    }
  }

  @Test
  void aFieldThatKubernetesDoesNotKnowIsFoundAtAnyDepth() {
    for (JsonNode document : documents) {
      for (ObjectNode place : objects(document.path("spec"))) {
        // Where the names are the user's, any is right.
        if (place.has("app") || place.has("cpu") || place.has("memory")) {
          continue;
        }
        place.put("mispelled", 1);
        assertThatThrownBy(() -> read(document)).hasMessageContaining("mispelled");
        place.remove("mispelled");
      }
      read(document);
    }
  }

  private static List<ObjectNode> objects(JsonNode node) {
    List<ObjectNode> objects = new ArrayList<>();
    if (node instanceof ObjectNode object) {
      objects.add(object);
    }
    node.forEach(inner -> objects.addAll(objects(inner)));
    return objects;
  }

  @Test
  void selectorsFindThePods() {
    Deployment deployment = the(Deployment.class);
    Map<String, String> labels = deployment.getSpec().getTemplate().getMetadata().getLabels();
    NetworkPolicy network = the(NetworkPolicy.class);
    List<Map<String, String>> selectors =
        Stream.concat(
                Stream.of(
                        deployment.getSpec().getSelector(),
                        the(PodDisruptionBudget.class).getSpec().getSelector(),
                        network.getSpec().getPodSelector(),
                        network.getSpec().getIngress().get(1).getFrom().get(0).getPodSelector(),
                        pod().getTopologySpreadConstraints().get(0).getLabelSelector())
                    .map(LabelSelector::getMatchLabels),
                Stream.of(the(Service.class).getSpec().getSelector()))
            .toList();
    assertThat(selectors)
        .allSatisfy(selector -> assertThat(selector).isNotEmpty())
        .allSatisfy(selector -> assertThat(labels).containsAllEntriesOf(selector));
    assertThat(the(HorizontalPodAutoscaler.class).getSpec().getScaleTargetRef())
        .returns(deployment.getApiVersion(), target -> target.getApiVersion())
        .returns(deployment.getKind(), target -> target.getKind())
        .returns(deployment.getMetadata().getName(), target -> target.getName());
  }

  private Map<String, Integer> ports() {
    return container().getPorts().stream()
        .collect(Collectors.toMap(ContainerPort::getName, ContainerPort::getContainerPort));
  }

  @Test
  void portsAreThoseOfTheServer() {
    int http = Deployed.option(serve(), "--port", Integer.class);
    String address = Deployed.option(serve(), "--cluster-address", String.class);
    assertThat(ports())
        .isEqualTo(Map.of("http", http, "cluster", Integer.valueOf(address.split(":", 2)[1])));
    List<IntOrString> used = new ArrayList<>();
    probes().forEach(probe -> used.add(probe.getHttpGet().getPort()));
    the(Service.class).getSpec().getPorts().forEach(port -> used.add(port.getTargetPort()));
    the(NetworkPolicy.class)
        .getSpec()
        .getIngress()
        .forEach(rule -> rule.getPorts().forEach(port -> used.add(port.getPort())));
    assertThat(used)
        .hasSize(6)
        .allSatisfy(port -> assertThat(ports()).containsKey(port.getStrVal()));
  }

  @Test
  void onlyHostsReachThePortWhereHostsTalk() {
    the(NetworkPolicy.class)
        .getSpec()
        .getIngress()
        .forEach(
            rule ->
                assertThat(rule.getFrom().isEmpty())
                    .isEqualTo(rule.getPorts().get(0).getPort().getStrVal().equals("http")));
  }

  @Test
  void optionsAndVariablesAreThoseOfTheServer() throws IOException {
    assertThat(serve().matchedOptions()).isNotEmpty();
    List<EnvVar> variables = container().getEnv();
    String arguments = String.join(" ", container().getArgs());
    assertThat(arguments).contains("$(POD_IP)");
    assertThat(
            Deployed.unread(
                variables.stream()
                    .map(EnvVar::getName)
                    .filter(name -> !arguments.contains("$(" + name + ")"))))
        .isEmpty();
    assertThat(Deployed.option(serve(), "--cluster", Boolean.class)).isTrue();
  }

  @Test
  void everySecretIsThere() {
    Map<String, String> secret = the(Secret.class).getStringData();
    String name = the(Secret.class).getMetadata().getName();
    List<String> keys = new ArrayList<>();
    for (EnvVar variable : container().getEnv()) {
      if (variable.getValueFrom() != null && variable.getValueFrom().getSecretKeyRef() != null) {
        assertThat(variable.getValueFrom().getSecretKeyRef().getName()).isEqualTo(name);
        keys.add(variable.getValueFrom().getSecretKeyRef().getKey());
      }
    }
    assertThat(keys).containsExactlyInAnyOrderElementsOf(secret.keySet());
    Store.parse(Objects.requireNonNull(secret.get("store")));
  }

  private Volume volumeAt(Path path) {
    VolumeMount mount =
        container().getVolumeMounts().stream()
            .filter(mounted -> path.startsWith(mounted.getMountPath()))
            .findFirst()
            .orElseThrow();
    assertThat(mount.getSubPath()).as("what is mounted by subPath is not renewed").isNull();
    return pod().getVolumes().stream()
        .filter(volume -> volume.getName().equals(mount.getName()))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void theCertificateIsMountedAndWhatIsWrittenIsOnAVolume() {
    JsonNode certificate = certificates("Certificate", "fermata");
    Path tls = Deployed.option(serve(), "--cluster-tls", Path.class);
    assertThat(volumeAt(tls).getSecret().getSecretName())
        .isEqualTo(certificate.at("/spec/secretName").textValue());
    assertThat(container().getSecurityContext().getReadOnlyRootFilesystem()).isTrue();
    Path ledger = Deployed.option(serve(), "--ledger", Path.class);
    assertThat(volumeAt(ledger).getEmptyDir()).isNotNull();
  }

  private static JsonNode certificates(String kind, String name) {
    return Deployed.yaml("kubernetes/certificate.yaml").stream()
        .filter(document -> document.at("/kind").asText().equals(kind))
        .filter(document -> document.at("/metadata/name").asText().equals(name))
        .findFirst()
        .orElseThrow();
  }

  /** An RSA key, a name, and the authority itself as the issuer: what Pekko asks for. */
  @Test
  void theCertificateIsOneThatHostsCanUse() {
    JsonNode certificate = certificates("Certificate", "fermata");
    assertThat(certificate.at("/spec/privateKey/algorithm").asText()).isEqualTo("RSA");
    assertThat(certificate.at("/spec/dnsNames")).isNotEmpty();
    JsonNode issuer = certificates("Issuer", certificate.at("/spec/issuerRef/name").asText());
    JsonNode authority =
        Deployed.yaml("kubernetes/certificate.yaml").stream()
            .filter(
                document ->
                    document.at("/spec/secretName").equals(issuer.at("/spec/ca/secretName")))
            .findFirst()
            .orElseThrow();
    assertThat(authority.at("/spec/isCA").booleanValue()).isTrue();
    assertThat(authority.at("/spec/privateKey/algorithm").asText()).isEqualTo("RSA");
    JsonNode root = certificates("Issuer", authority.at("/spec/issuerRef/name").asText());
    assertThat(root.at("/spec/selfSigned").isObject()).isTrue();
  }

  @Test
  void aPodHasTimeToLeaveAndToJoin() {
    Duration leaving =
        Deployed.closing(serve())
            .plusSeconds(container().getLifecycle().getPreStop().getSleep().getSeconds());
    assertThat(Duration.ofSeconds(pod().getTerminationGracePeriodSeconds())).isGreaterThan(leaving);
    Probe startup = container().getStartupProbe();
    assertThat(
            Duration.ofSeconds(startup.getPeriodSeconds())
                .multipliedBy(startup.getFailureThreshold()))
        .isGreaterThan(Deployed.joining());
  }

  @Test
  void aRollingUpdateNeverHasFewerHosts() {
    Deployment deployment = the(Deployment.class);
    assertThat(deployment.getSpec().getReplicas()).as("the autoscaler's").isNull();
    assertThat(
            deployment.getSpec().getStrategy().getRollingUpdate().getMaxUnavailable().getIntVal())
        .isZero();
    assertThat(deployment.getSpec().getStrategy().getRollingUpdate().getMaxSurge().getIntVal())
        .isEqualTo(1);
    int fewest = the(HorizontalPodAutoscaler.class).getSpec().getMinReplicas();
    int away = the(PodDisruptionBudget.class).getSpec().getMaxUnavailable().getIntVal();
    assertThat(fewest - away).isGreaterThan(1);
  }

  @Test
  void theHeapFitsTheMemory() {
    Map<String, Quantity> limits = container().getResources().getLimits();
    assertThat(limits).containsOnlyKeys("memory");
    assertThat(limits.get("memory"))
        .isEqualTo(container().getResources().getRequests().get("memory"));
    assertThat(Quantity.getAmountInBytes(limits.get("memory")).longValueExact())
        .isGreaterThanOrEqualTo(1L << 30);
  }

  @Test
  void everyOperatorHasAKey() {
    String keys = the(Secret.class).getStringData().getOrDefault("api-keys", "");
    Deployed.requireOperators(serve(), keys);
  }

  private Stream<Probe> probes() {
    return Stream.of(
        container().getStartupProbe(),
        container().getLivenessProbe(),
        container().getReadinessProbe());
  }

  @Test
  void probesAskWhatTheServerAnswers() throws IOException {
    DisplayTool plans = DisplayTool.of("show_plans", "Plans", "Shows plans.", "<p>");
    try (SessionProbe probe =
            SessionProbe.of(QuoteFlow.create(), Store.memory(), host -> host.display(plans));
        McpServer server = McpServer.serving(probe.host()).port(0).start()) {
      for (Probe asked : probes().toList()) {
        HTTPGetAction get = asked.getHttpGet();
        String host = get.getHttpHeaders().get(0).getValue();
        assertThat(get.getHttpHeaders().get(0).getName()).isEqualTo("Host");
        assertThat(Deployed.status(server.endpoint(), get.getPath(), host)).isEqualTo(200);
        assertThat(Deployed.status(server.endpoint(), get.getPath(), "10.0.0.7"))
            .as("without the header")
            .isGreaterThanOrEqualTo(400);
        assertThat(Deployed.status(server.endpoint(), get.getPath() + "x", host)).isEqualTo(404);
      }
    }
  }

  /** Prometheus finds pods by their addresses. */
  @Test
  void prometheusReadsTheMetricsOfEachPod() throws IOException {
    EnvVar address =
        container().getEnv().stream()
            .filter(variable -> variable.getName().equals("POD_IP"))
            .findFirst()
            .orElseThrow();
    assertThat(address.getValueFrom().getFieldRef().getFieldPath()).isEqualTo("status.podIP");
    List<String> arguments =
        container().getArgs().stream().map(arg -> arg.replace("$(POD_IP)", "10.0.0.7")).toList();
    String target = "10.0.0.7:" + ports().get("http");
    assertThat(Deployed.scraped(Deployed.serve(arguments), target)).isEqualTo(200);
  }
}
