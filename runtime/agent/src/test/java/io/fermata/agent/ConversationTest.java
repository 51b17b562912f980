package io.fermata.agent;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.agent.message.Side;
import io.fermata.agent.state.StopCode;
import org.junit.jupiter.api.Test;

class ConversationTest {
  @Test
  void aModelAnswersAPerson() {
    Scripted model = Scripted.saying("Hello, Ann.");
    Conversation talk =
        Conversation.with(Agent.aiHuman("desk", Prompt.of("support", model.model()).text("Help.")));

    talk.say("Hi");

    assertThat(talk.lines()).containsExactly("user: Hi", "assistant: Hello, Ann.");
    assertThat(talk.code()).isEqualTo(StopCode.STOP_ON_RESPONSE);
    assertThat(talk.state().turn().stoppedBy()).isEqualTo(Side.A);
    assertThat(model.lastRequest()).containsExactly("system: Help.", "user: Hi");
    talk.crash();
  }
}
