package io.fermata.examples;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.flow.Flow;
import io.fermata.flow.schema.Computed;
import io.fermata.mcp.McpServer;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.boot.Banner;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.logging.LoggingSystem;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** A host and its server as beans of a Spring Boot application, as in the README. */
@Timeout(120)
@Tag("slow")
class SpringBootTest {

  record Tea(@Computed String kind) {}

  private static final CountDownLatch BREWS = new CountDownLatch(1);

  private static final Flow<Tea> TEA =
      Flow.of("tea", Tea.class)
          .description("Brews tea.")
          .act(
              "brew",
              run -> {
                BREWS.countDown();
                Thread.sleep(1_000);
                run.set("kind", "Darjeeling");
              })
          .edge(START, "brew")
          .edge("brew", END)
          .result(Tea::kind)
          .compile();

  @Configuration(proxyBeanMethods = false)
  static class Quotes {

    @Bean
    Fermata fermata() {
      return Fermata.host().store(Store.memory()).flow(TEA).start();
    }

    @Bean
    McpServer mcp(Fermata fermata) {
      return McpServer.serving(fermata).port(0).start();
    }

    /** Drains the server before anything else of the application stops. */
    @Bean
    SmartLifecycle drain(McpServer mcp) {
      return new Drain(mcp, Duration.ofSeconds(20));
    }
  }

  /** Runs with its server; in the last phase to start, which is the first to stop. */
  static final class Drain implements SmartLifecycle {
    private final McpServer server;
    private final Duration timeout;
    private volatile boolean running;

    Drain(McpServer server, Duration timeout) {
      this.server = server;
      this.timeout = timeout;
    }

    @Override
    public void start() {
      running = true;
    }

    @Override
    public void stop() {
      server.drain(timeout);
      running = false;
    }

    @Override
    public boolean isRunning() {
      return running;
    }
  }

  @BeforeAll
  static void keepTheLogging() {
    System.setProperty(LoggingSystem.SYSTEM_PROPERTY, LoggingSystem.NONE);
  }

  @AfterAll
  static void forgetTheLogging() {
    System.clearProperty(LoggingSystem.SYSTEM_PROPERTY);
  }

  private static ConfigurableApplicationContext run() {
    SpringApplication application = new SpringApplication(Quotes.class);
    application.setWebApplicationType(WebApplicationType.NONE);
    application.setBannerMode(Banner.Mode.OFF);
    application.setRegisterShutdownHook(false);
    return application.run();
  }

  private static String call(URI endpoint, String arguments) throws Exception {
    return HttpClient.newHttpClient()
        .send(
            HttpRequest.newBuilder(endpoint)
                .header("Content-Type", "application/json")
                .header("Accept", "application/json, text/event-stream")
                .POST(
                    BodyPublishers.ofString(
                        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"tea\","
                            + "\"_meta\":{\"threadId\":\"t\"},\"arguments\":"
                            + arguments
                            + "}}"))
                .build(),
            BodyHandlers.ofString())
        .body();
  }

  @Test
  void answersCallsAndDrainsWhenTheContextCloses() throws Exception {
    ConfigurableApplicationContext context = run();
    URI endpoint = context.getBean(McpServer.class).endpoint();
    Fermata host = context.getBean(Fermata.class);
    CompletableFuture<String> tea =
        CompletableFuture.supplyAsync(
            () -> {
              try {
                return call(endpoint, "{\"action\":\"start\",\"intent\":\"is thirsty\"}");
              } catch (Exception e) {
                throw new IllegalStateException(e);
              }
            });
    BREWS.await();

    context.close();

    assertThat(tea.get(60, TimeUnit.SECONDS)).contains("Darjeeling");
    assertThat(host.health().toCompletableFuture().join().accepts()).isFalse();
    assertThatThrownBy(() -> call(endpoint, "{\"action\":\"status\"}"))
        .isInstanceOf(IOException.class);
  }
}
