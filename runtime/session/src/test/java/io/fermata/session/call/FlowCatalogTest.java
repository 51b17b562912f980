package io.fermata.session.call;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.Flow;
import io.fermata.flow.json.Limits;
import io.fermata.flow.schema.Secret;
import java.util.List;
import org.junit.jupiter.api.Test;

class FlowCatalogTest {
  record Card(@Secret String number) {}

  @Test
  void theSecretFieldsOfAFlowAreCollectedOnceAndNotInEachCall() {
    Flow<Card> flow =
        Flow.of("pay", Card.class)
            .description("Pays.")
            .ask("ask_number", q -> q.question("number", "Which card?"))
            .edge(Flow.START, "ask_number")
            .edge("ask_number", Flow.END)
            .compile();
    FlowCatalog catalog = new FlowCatalog(List.of(flow), List.of(), List.of(), Limits.DEFAULT);
    assertThat(flow.secretFields()).isSameAs(flow.secretFields());
    assertThat(catalog.secretFields("pay")).isSameAs(catalog.secretFields("pay"));
    assertThat(catalog.secretFields("pay").isEmpty()).isFalse();
  }
}
