package io.fermata.session.actor;

import static io.fermata.session.PromisesTest.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.typesafe.config.ConfigFactory;
import io.fermata.flow.Flow;
import io.fermata.flow.schema.Computed;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What waits while a session writes. */
@Tag("slow")
class StashTest {
  private static final int ITEMS = 100;

  @TempDir Path folder;

  private final AtomicInteger handled = new AtomicInteger();

  record Item(@Computed Integer number, @Computed Integer result) {}

  record All(@Computed List<Integer> results) {}

  @Test
  void noResultIsLostWhenMoreArriveDuringAWriteThanFit() {
    try (Fermata host =
        Fermata.host()
            .store(Store.sqlite(folder.resolve("fermata.db")))
            .config(ConfigFactory.parseString("pekko.persistence.typed.stash-capacity = 20"))
            .flow(all())
            .start()) {
      call(host, "start");
      await(() -> call(host, "status").structured().path("status").asText().equals("complete"));
      assertThat(handled).hasValueGreaterThanOrEqualTo(ITEMS);
    }
  }

  private static ToolReply call(Fermata host, String action) {
    ObjectNode arguments =
        JsonNodeFactory.instance.objectNode().put("action", action).put("intent", "handle them");
    ObjectNode meta = JsonNodeFactory.instance.objectNode().put("fermata/sessionId", "s");
    return host.call(new ToolCall("all", "ann", arguments, meta, null))
        .toCompletableFuture()
        .join();
  }

  private Flow<All> all() {
    Flow<Item> item =
        Flow.of("item", Item.class)
            .description("Handles an item")
            .act(
                "handle",
                run -> {
                  run.set("result", 1);
                  handled.incrementAndGet();
                })
            .edge(Flow.START, "handle")
            .edge("handle", Flow.END)
            .result(Item::result)
            .compile();
    return Flow.of("all", All.class)
        .description("Handles all items")
        .<Item, Integer>forEach(
            "items",
            item,
            items ->
                items
                    .items(all -> IntStream.range(0, ITEMS).boxed().toList())
                    .input((all, number) -> Map.of("number", number))
                    .atMost(ITEMS)
                    .into("results"))
        .edge(Flow.START, "items")
        .edge("items", Flow.END)
        .result(all -> all.results().size())
        .compile();
  }
}
