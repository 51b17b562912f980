package io.fermata.examples;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;

import io.fermata.flow.Flow;
import io.fermata.flow.event.Verdict;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import jakarta.validation.constraints.Min;
import java.nio.file.Path;
import java.util.Locale;

/** A flow that clients may show as forms, for clients that do. */
public record Dinner(String name, String email, @Min(1) Integer guests) {
  private static final Flow<Dinner> FLOW =
      Flow.of("dinner", Dinner.class)
          .description("Books a table.")
          .forms()
          .ask(
              "ask_who",
              q ->
                  q.question("name", "Who comes?")
                      .question("email", "How do we reach you?", s -> s.validate(Dinner::check)))
          .ask("ask_guests", q -> q.question("guests", "How many are you?"))
          .edge(START, "ask_who")
          .edge("ask_who", "ask_guests")
          .edge("ask_guests", END)
          .result(dinner -> dinner)
          .compile();

  private static Verdict check(String email) {
    return email.contains("@")
        ? Verdict.accept(email.toLowerCase(Locale.ROOT))
        : Verdict.reject("That is no email.");
  }

  static Fermata clusterHost(String database) {
    return Fermata.host().store(Store.postgres(database)).cluster().flow(FLOW).start();
  }

  public static Fermata host(Path folder) {
    return Fermata.host().store(Store.sqlite(folder.resolve("dinner.db"))).flow(FLOW).start();
  }
}
