package io.fermata.examples.flows;

import dev.langchain4j.model.openai.OpenAiStreamingChatModel;
import io.fermata.agent.model.Model;
import io.fermata.agent.model.ModelHttp;
import java.net.URI;
import java.net.URISyntaxException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** A model of an OpenAI-compatible provider, or the script that stands in for it. */
public sealed class ModelOptions permits DeskOptions {
  static final String KEY = "FERMATA_MODEL_KEY";

  private static final String CONFIGURATION =
      "An OpenAI-compatible provider is configured by --model-url (or FERMATA_MODEL_URL),"
          + " --model-name (or FERMATA_MODEL_NAME), --model-price (or FERMATA_MODEL_PRICE), as what"
          + " it costs is counted, and, if it needs one, a key in "
          + KEY;

  @Option(
      names = "--model-url",
      paramLabel = "URL",
      description = {
        "The address of an OpenAI-compatible provider, such as https://api.openai.com/v1;",
        "by default FERMATA_MODEL_URL, else a script answers.",
        "Its key is read from FERMATA_MODEL_KEY only."
      })
  @Nullable String url;

  @Option(
      names = "--model-name",
      paramLabel = "NAME",
      description = "The provider's model; by default FERMATA_MODEL_NAME.")
  @Nullable String name;

  @Option(
      names = "--model-price",
      paramLabel = "INPUT,OUTPUT[,CACHED]",
      description = {
        "US dollars for a million tokens, such as 2.00,8.00,0.50, or 0,0 for a free model;",
        "by default FERMATA_MODEL_PRICE."
      })
  @Nullable String price;

  /**
   * The configured model.
   *
   * @param scripted the model without configuration
   * @throws IllegalArgumentException if the configuration is incomplete or invalid
   */
  public Model model(Supplier<Model> scripted) {
    return model(
        scripted,
        url == null ? environment("FERMATA_MODEL_URL") : url,
        environment(KEY),
        name == null ? environment("FERMATA_MODEL_NAME") : name,
        price == null ? environment("FERMATA_MODEL_PRICE") : price);
  }

  private static @Nullable String environment(String variable) {
    String value = System.getenv(variable);
    return value == null || value.isBlank() ? null : value;
  }

  /**
   * The configured model; the scripted one without configuration.
   *
   * @throws IllegalArgumentException if the configuration is incomplete or invalid
   */
  static Model model(
      Supplier<Model> scripted,
      @Nullable String url,
      @Nullable String key,
      @Nullable String name,
      @Nullable String price) {
    if (url == null && key == null && name == null) {
      return scripted.get();
    } else if (url == null || name == null || price == null) {
      List<String> missing = new ArrayList<>();
      if (url == null) {
        missing.add("url");
      }
      if (name == null) {
        missing.add("name");
      }
      if (price == null) {
        missing.add("price");
      }
      throw new IllegalArgumentException(
          "The model's %s is missing. %s".formatted(String.join(" and ", missing), CONFIGURATION));
    }
    OpenAiStreamingChatModel client =
        OpenAiStreamingChatModel.builder()
            .httpClientBuilder(ModelHttp.builder())
            .baseUrl(checked(url))
            .apiKey(Objects.requireNonNullElse(key, "none"))
            .modelName(name)
            .timeout(Duration.ofMinutes(2))
            .build();
    return priced(Model.of(name, client), price);
  }

  private static Model priced(Model model, String price) {
    String[] parts = price.split(",", -1);
    try {
      if (parts.length == 2 || parts.length == 3) {
        return model.price(
            parts[0].strip(), parts[1].strip(), parts[parts.length == 2 ? 0 : 2].strip());
      }
    } catch (IllegalArgumentException e) {
      // reported below
    }
    throw new IllegalArgumentException(
        "The model's price \"%s\" is not INPUT,OUTPUT or INPUT,OUTPUT,CACHED in dollars. %s"
            .formatted(price, CONFIGURATION));
  }

  private static String checked(String url) {
    try {
      URI uri = new URI(url);
      boolean http = "http".equals(uri.getScheme()) || "https".equals(uri.getScheme());
      if (http && uri.getHost() != null) {
        return url;
      }
    } catch (URISyntaxException e) {
      // reported below
    }
    throw new IllegalArgumentException(
        "The model's url \"%s\" is not an http or https address. %s".formatted(url, CONFIGURATION));
  }
}
