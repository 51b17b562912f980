package io.fermata.session;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Computed;
import io.fermata.flow.Flow;
import io.fermata.flow.Json;
import io.fermata.persistence.Store;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SmokeTest {
  record S(String a, String b, @Computed Integer n) {}

  static Flow<S> flow() {
    return Flow.of("f", S.class)
        .description("d")
        .ask("qa", q -> q.question("a", "A?"))
        .act("act", run -> run.set("n", 1))
        .ask("qb", q -> q.question("b", "B?"))
        .edge(START, "qa")
        .edge("qa", "act")
        .edge("act", "qb")
        .edge("qb", END)
        .result(s -> s)
        .compile();
  }

  @TempDir Path dir;

  @Test
  void runs() throws Exception {
    for (Store store : new Store[] {Store.memory(), Store.sqlite(dir.resolve("x.db"))}) {
      try (Fermata f = Fermata.host().store(store).flow(flow()).start()) {
        System.out.println(f.tools().get(0).description().length());
        ObjectNode r = call(f, "{'action':'start','intent':'x'}");
        String sid = r.get("sessionId").textValue();
        call(f, "{'action':'continue','stateUpdates':{'a':'1'},'sessionId':'" + sid + "'}");
        call(f, "{'action':'status','sessionId':'" + sid + "'}");
        call(f, "{'action':'continue','stateUpdates':{'b':'2'},'sessionId':'" + sid + "'}");
        call(f, "{'action':'continue','sessionId':'" + sid + "'}");
        Thread.sleep(1000);
        call(f, "{'action':'continue','sessionId':'" + sid + "'}");
      }
    }
  }

  private ObjectNode call(Fermata f, String args) throws Exception {
    ObjectNode a =
        (ObjectNode)
            new com.fasterxml.jackson.databind.ObjectMapper().readTree(args.replace('\'', '"'));
    ToolReply r =
        f.call(new ToolCall("f", "local", a, Json.object(), null))
            .toCompletableFuture()
            .get(20, TimeUnit.SECONDS);
    System.out.println(r.structured() + " " + r.meta());
    return r.structured();
  }
}
