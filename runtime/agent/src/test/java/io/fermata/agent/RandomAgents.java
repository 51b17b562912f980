package io.fermata.agent;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.output.FinishReason;
import dev.langchain4j.model.output.TokenUsage;
import io.fermata.agent.message.Attachment;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.MessageUpdate;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.Side;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.model.Model;
import io.fermata.flow.json.Json;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Agents of any kind. What their models, tools and hooks do depends on nothing but what they are
 * given, so a run that is cut off and goes on comes to the same end as one that is not.
 */
public final class RandomAgents {
  private record Amount(int n) {}

  private static final Duration MINUTE = Duration.ofMinutes(1);

  private final Random random;
  private final boolean quiet;
  private final Budget budget;
  private final boolean hosted;
  private final boolean hookedHost;
  private int mutated = -1;
  private int pieces;

  /**
   * Begins.
   *
   * @param quiet their tools do nothing to the thread but have results
   */
  public RandomAgents(long seed, boolean quiet) {
    this.random = new Random(seed);
    this.quiet = quiet;
    this.hosted = seed % 3 == 1;
    this.hookedHost = seed % 6 == 1;
    this.budget = seed % 7 == 3 ? Budget.tokens(60) : Budget.NONE;
  }

  /** The same agents but for one of the pieces that decide: a hook or a bound. */
  public RandomAgents mutating(int piece) {
    mutated = piece;
    return this;
  }

  /** How many pieces there are that may be another one. */
  public int pieces() {
    return pieces;
  }

  private <T> T piece(T usual, T other) {
    return pieces++ == mutated ? other : usual;
  }

  /** The first speaks first; the others may be handed over to, or put to work. */
  public Agent[] next() {
    Agent worker = Agent.aiHuman("worker", Prompt.of("work", model(9)).text("Work."));
    Agent second = agent("second", List.of());
    List<Offered> others = new ArrayList<>();
    if (!quiet) {
      others.add(Handoff.to("second", "Continues"));
      others.add(SubAgent.of("worker", "Works").as("helper").asBlocking().atMost(1));
      others.add(SubAgent.of("worker", "Works").as("runner"));
    }
    return new Agent[] {agent("first", others), second, worker};
  }

  private Agent agent(String name, List<Offered> others) {
    Prompt sub =
        maybeHooked(
            Prompt.of(name + "-sub", model(random.nextInt(1_000)))
                .toolDescription("Helps")
                .tools(tools()));
    boolean parallel = quiet || random.nextBoolean();
    Prompt inner = seesOthersAtWork(parallel) ? sub : sub.includeChat();
    Prompt top =
        maybeHooked(
            Prompt.of(name + "-top", model(random.nextInt(1_000)))
                .text(piece("Speak.", "Talk."))
                .tools(tools())
                .tools(others)
                .tools(inner.asTool())
                .tools(piece(List.<Offered>of(), List.of(SPARE))));
    if (hosted) {
      top = top.env(World.VARIABLE);
    }
    if (parallel) {
      top = top.parallelToolCalls();
    }
    if (random.nextInt(4) == 0) {
      top = top.window(3 + random.nextInt(20));
    }
    Agent agent = sides(name, top);
    if (random.nextInt(3) == 0 && !quiet) {
      agent = agent.hooks(hooks());
    }
    if (random.nextInt(4) == 0) {
      agent = agent.compaction(Compaction.by(model(5), 6, 2));
    }
    return agent.maxSteps(piece(8, 2)).budget(piece(budget, Budget.tokens(30))).effects(deferred());
  }

  /** What a sub-prompt sees of the conversation is not to depend on the calls beside its own. */
  private boolean seesOthersAtWork(boolean parallel) {
    return (parallel && !quiet) || random.nextBoolean();
  }

  private Agent sides(String name, Prompt top) {
    Participant.Speaker speaker = Participant.prompt(top);
    List<String> names = top.tools().stream().map(Offered::name).toList();
    if (names.contains("plain") && random.nextInt(5) == 0) {
      speaker = speaker.stopTool("plain");
    } else if (names.contains("store") && random.nextInt(5) == 0) {
      speaker = speaker.sessionStop("store", null);
    } else if (names.contains("attaches") && random.nextInt(5) == 0) {
      speaker = speaker.sessionFail("attaches", "n");
    }
    return switch (quiet ? 0 : random.nextInt(5)) {
      case 0, 1 -> Agent.of(name, speaker, Participant.person());
      case 2 -> Agent.of(name, speaker, Participant.code(RandomAgents::handle)).maxSessionTurns(2);
      case 3 -> Agent.of(name, Participant.code(RandomAgents::handle), Participant.person());
      default -> {
        Prompt other = Prompt.of(name + "-other", model(random.nextInt(1_000))).tools(tools());
        yield Agent.of(name, speaker, Participant.prompt(other)).maxSessionTurns(2);
      }
    };
  }

  private static void handle(FlowState flow, Message message) {
    int n = hash(message.content());
    if (n % 5 == 0) {
      flow.scheduleEffect("later", new Amount(n % 10), MINUTE);
    }
    if (n % 4 != 0) {
      flow.injectMessage(Message.of(flow.currentSide().role(), "code " + n % 10));
    }
  }

  // --- models ----------------------------------------------------------------------------------

  private static int hash(@Nullable Object value) {
    return Math.floorMod(String.valueOf(value).hashCode() * 31 + 17, 10_007);
  }

  /** Says and calls what follows from the request alone. */
  private static Model model(int salt) {
    ChatModel chat =
        new ChatModel() {
          @Override
          public ChatResponse doChat(ChatRequest request) {
            return ChatResponse.builder()
                .aiMessage(reply(request, salt))
                .tokenUsage(new TokenUsage(7, 3))
                .finishReason(FinishReason.STOP)
                .build();
          }
        };
    return Model.of("random" + salt, chat).attempts(1);
  }

  private static AiMessage reply(ChatRequest request, int salt) {
    Random random = new Random(hash(Scripted.received(request)) + salt * 7_919L);
    int kind = random.nextInt(20);
    if (kind == 0) {
      throw new IllegalStateException("the model is away");
    } else if (kind == 1) {
      return AiMessage.from("");
    }
    List<ToolExecutionRequest> calls = new ArrayList<>();
    int most = request.toolSpecifications() == null ? 0 : request.toolSpecifications().size();
    for (int i = random.nextInt(4); i > 0 && most > 0 && kind < 14; i--) {
      String tool = request.toolSpecifications().get(random.nextInt(most)).name();
      calls.add(
          ToolExecutionRequest.builder()
              .id("c" + i)
              .name(random.nextInt(20) == 0 ? "unknown" : tool)
              .arguments(arguments(tool, random))
              .build());
    }
    String text = "word " + random.nextInt(100);
    return calls.isEmpty()
        ? AiMessage.from(text)
        : random.nextBoolean() ? AiMessage.from(calls) : AiMessage.from(text, calls);
  }

  private static String arguments(String tool, Random random) {
    boolean speaks = tool.endsWith("-sub") || tool.equals("helper") || tool.equals("runner");
    boolean bare = tool.equals("flow") || tool.equals("second");
    ObjectNode arguments = Json.object();
    if (speaks) {
      arguments.put("message", "do " + random.nextInt(100));
    } else if (!bare) {
      arguments.put("n", random.nextInt(10));
    }
    return random.nextInt(20) == 0 ? "{\"wrong" : Json.text(arguments);
  }

  // --- tools and hooks -------------------------------------------------------------------------

  private interface Doing {
    @Nullable Object does(FlowState flow, int n) throws Exception;
  }

  private static Tool tool(String name, Doing doing) {
    return Tool.of(name, "Does " + name, Amount.class, (flow, args) -> doing.does(flow, args.n()));
  }

  private Offered[] tools() {
    return Stream.concat(QUIET.stream(), quiet ? Stream.<Offered>empty() : LOUD.stream())
        .filter(tool -> random.nextInt(4) > 0)
        .toArray(Offered[]::new);
  }

  private static final Tool SPARE = tool("spare", (flow, n) -> "spare " + n);

  private static final List<Offered> QUIET =
      List.of(
          tool("plain", (flow, n) -> "plain " + n),
          tool("fails", (flow, n) -> failing(n)),
          tool("asks", (flow, n) -> "asked " + n).approval(args -> "May I " + args + "?"),
          tool(
              "attaches",
              (flow, n) ->
                  ToolResult.success("see")
                      .attach(new Attachment("f" + n, "text/plain", bytes("file " + n)))));

  /** What these do is done in the order in which they end. */
  private static final List<Offered> LOUD =
      List.of(
          CalledFlow.of("flow", "Flows"),
          tool("injects", (flow, n) -> flow.injectMessage(Message.assistant("inj " + n)).id()),
          tool("inserts", RandomAgents::inserts),
          tool("edits", RandomAgents::edits),
          tool("queues", (flow, n) -> flow.queueTool("plain", new Amount(n)).id()),
          tool("chains", RandomAgents::chains),
          tool("invokes", (flow, n) -> flow.invokeTool("plain", new Amount(n)).text()),
          tool("forces", RandomAgents::forces),
          tool("stops", RandomAgents::stops),
          tool("store", RandomAgents::store),
          tool(
              "schedules",
              (flow, n) -> flow.scheduleEffect("later", new Amount(n), MINUTE.multipliedBy(n))));

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static Object failing(int n) {
    if (n % 2 == 0) {
      throw new IllegalStateException("failed with " + n);
    }
    return ToolResult.error("odd", "an odd one");
  }

  private static Object inserts(FlowState flow, int n) {
    String last = lastPosted(flow);
    if (last != null) {
      flow.injectMessage(Message.system("ins " + n), last);
    }
    return "inserted";
  }

  private static Object edits(FlowState flow, int n) {
    String last = lastPosted(flow);
    return last == null
        ? "nothing"
        : flow.updateMessage(last, MessageUpdate.content("edited " + n)).id();
  }

  /** What came from outside is the same for calls side by side, whichever is made first. */
  private static @Nullable String lastPosted(FlowState flow) {
    String last = null;
    for (Message message : flow.messageHistory()) {
      last = message.id().matches("m-u\\d+") ? message.id() : last;
    }
    return last;
  }

  private static Object chains(FlowState flow, int n) {
    if (n > 5) {
      flow.queueTool("chains", new Amount(n - 3));
      flow.queueTool("plain", new Amount(n));
    }
    return "chained " + n;
  }

  private static Object forces(FlowState flow, int n) {
    flow.forceTurn(n % 3 == 0 ? Side.B : Side.A);
    return "forced";
  }

  private static Object stops(FlowState flow, int n) {
    if (n < 4) {
      flow.stop("enough " + n);
    }
    return "stopped?";
  }

  private static Object store(FlowState flow, int n) {
    flow.storage().put("k" + n % 3, Map.of("n", n, "half", n / 2.0, "big", 1L << 40));
    flow.context("c" + n % 2, n % 4 == 0 ? null : n + 0.10);
    flow.files().write("/f" + n % 3, "text " + n);
    flow.setEnv("e" + n % 2, "v" + n);
    flow.setStatus("at " + n);
    flow.emitEvent("stored", n);
    return Map.of("stored", n);
  }

  private static ScheduledHandler deferred() {
    return ScheduledHandler.of(
        "later",
        "Later",
        Amount.class,
        (flow, args) -> {
          int n = args.n();
          flow.emitEvent("deferred", n);
          if (n % 5 == 1) {
            flow.injectMessage(Message.assistant("later " + n));
          } else if (n % 5 == 2) {
            flow.scheduleEffect("later", new Amount(n + 1), MINUTE.multipliedBy(3));
          } else if (n % 5 == 3) {
            flow.forceTurn(Side.A);
          } else if (n % 5 == 4) {
            flow.injectMessage(Message.user("again " + n).asSilent());
          } else if (n == 5) {
            throw new IllegalStateException("no");
          }
        });
  }

  private Prompt maybeHooked(Prompt prompt) {
    return quiet || random.nextInt(3) > 0 ? prompt : prompt.hooks(hooks());
  }

  private Hook[] hooks() {
    List<Hook> all = new ArrayList<>();
    String sign = piece("~", "^");
    int shift = piece(0, 1);
    all.add(
        Hook.beforeCreateMessage(
            "mark",
            (flow, m) -> hash(m.content()) % 3 == 0 ? m.withContent(m.content() + sign) : m));
    all.add(Hook.afterCreateMessage("note", (flow, m) -> note(flow, m, shift)));
    String tone = piece(" Kindly.", " Curtly.");
    all.add(
        Hook.afterSystemMessage(
            "tone", (flow, text) -> text + tone + (hookedHost ? flow.env(World.VARIABLE) : "")));
    int hidden = piece(9, 4);
    all.add(
        Hook.filterMessages(
            "some", (flow, rows) -> rows.subList(rows.size() / hidden, rows.size())));
    int guard = piece(11, 5);
    all.add(Hook.prefilterLlmHistory("guard", (flow, messages) -> guarded(flow, messages, guard)));
    int strike = piece(5, 2);
    all.add(
        Hook.afterToolCallSuccess(
            "strike", (flow, call, result) -> hash(call.function()) % strike == 0 ? null : result));
    int hide = piece(3, 2);
    all.add(
        Hook.afterToolCallFailure(
            "hide", (flow, call, result) -> hash(call.function()) % hide == 0 ? null : result));
    String end = piece("!", "?");
    all.add(
        Hook.beforeStoreToolResult(
            "shout", (flow, call, result) -> result.withText(result.text() + end)));
    String began = piece("begin", "began");
    all.add(
        Hook.toolCallStarted("begin", (flow, call, args) -> flow.emitEvent(began, call.name())));
    all.add(Hook.toolCallDone("end", RandomAgents::ended));
    return all.stream().filter(hook -> random.nextInt(3) == 0).toArray(Hook[]::new);
  }

  private static void note(FlowState flow, Message message, int shift) {
    int n = hash(message.content()) + shift;
    if (n % 7 == 0) {
      flow.injectMessage(Message.assistant("note " + n).asSilent());
    } else if (n % 7 == 1) {
      flow.updateMessage(message.id(), MessageUpdate.content("changed " + n));
    } else if (n % 7 == 2) {
      throw new IllegalStateException("the hook is broken");
    }
  }

  private static <T> List<T> guarded(FlowState flow, List<T> messages, int guard) {
    int n = hash(messages.size());
    if (n % guard == 0) {
      throw new BlockedException("not " + n);
    } else if (n % 3 == 0) {
      flow.injectMessage(Message.system("guard " + n));
    }
    return messages;
  }

  private static void ended(FlowState flow, RequestedCall call, ToolResult result) {
    int n = hash(result.text());
    if (n % 6 == 0 && call.name().equals("plain")) {
      flow.injectMessage(Message.assistant("done " + n).asSilent());
    }
  }
}
