package io.fermata.agent.tool;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.FlowState;
import io.fermata.agent.Tool;
import io.fermata.agent.ToolHandler;
import io.fermata.agent.message.AuthorFailures;
import io.fermata.flow.json.Json;
import io.fermata.flow.schema.ArgumentSchema;
import io.fermata.flow.schema.Describe;
import java.lang.annotation.Annotation;
import java.lang.reflect.InaccessibleObjectException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Parameter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Creates tools from methods annotated with {@link ToolMethod}. */
public final class Tools {
  private Tools() {}

  /**
   * The tools of an object's annotated methods, sorted by name.
   *
   * <pre>{@code
   * final class Orders {
   *   @ToolMethod("Finds the orders of a customer.")
   *   public List<Order> find_orders(
   *       @Describe("The customer's mail address") String customer, @Nullable Integer limit) {…}
   *
   *   @ToolMethod(value = "Pays an order back.", once = true, approval = "Pay this order back?")
   *   public ToolResult refund(FlowState flow, Refund refund) {…}
   * }
   *
   * prompt.tools(Tools.of(new Orders()));
   * }</pre>
   *
   * <p>A tool is a public method with {@link ToolMethod}. It takes the thread's {@link FlowState}
   * or not, and then either one record, which is all the arguments, or any number of parameters,
   * each of which is one argument: {@link Describe} describes it, {@code @Nullable} makes it
   * optional, {@link Arg} sets a name other than that in Java. It returns what a {@link
   * ToolHandler} does, or nothing.
   *
   * @throws IllegalArgumentException if a method cannot be a tool; the message lists all errors
   */
  public static List<Tool> of(Object instance) {
    Class<?> type = instance.getClass();
    List<String> wrong = new ArrayList<>();
    Map<String, Method> named = new LinkedHashMap<>();
    List<Tool> tools = new ArrayList<>();
    for (Method method : annotated(type)) {
      Blueprint blueprint = new Blueprint(instance, method);
      Tool tool = blueprint.tool();
      wrong.addAll(blueprint.wrong);
      Method other = named.putIfAbsent(blueprint.name, method);
      if (other != null) {
        wrong.add(
            "%s: %s is a tool of that name already; give one of them a name of its own: @ToolMethod(name = …)"
                .formatted(signature(method), signature(other)));
      }
      if (tool != null) {
        tools.add(tool);
      }
    }
    if (named.isEmpty()) {
      wrong.add("none of its methods has @ToolMethod; annotate at least one");
    }
    if (!wrong.isEmpty()) {
      throw new IllegalArgumentException(
          "The methods of %s cannot be tools:\n- %s"
              .formatted(type.getName(), String.join("\n- ", wrong)));
    }
    return List.copyOf(tools);
  }

  private static List<Method> annotated(Class<?> type) {
    Set<Method> methods = new LinkedHashSet<>(Arrays.asList(type.getMethods()));
    for (Class<?> at = type; at != null; at = at.getSuperclass()) {
      Stream.of(at.getDeclaredMethods()).filter(Tools::hidden).forEach(methods::add);
    }
    return methods.stream()
        .filter(method -> !method.isBridge() && method.isAnnotationPresent(ToolMethod.class))
        .sorted(Comparator.comparing(Tools::name).thenComparing(Tools::signature))
        .toList();
  }

  private static boolean hidden(Method method) {
    return !Modifier.isPublic(method.getModifiers());
  }

  private static String name(Method method) {
    String given = options(method).name();
    return given.isEmpty() ? method.getName() : given;
  }

  private static ToolMethod options(Method method) {
    return method.getAnnotation(ToolMethod.class);
  }

  private static String signature(Method method) {
    return Stream.of(method.getParameterTypes())
        .map(Class::getSimpleName)
        .collect(Collectors.joining(", ", method.getName() + "(", ")"));
  }

  /** Makes a tool of one method. */
  private static final class Blueprint {
    private final Object instance;
    private final Method method;
    private final ToolMethod options;
    private final String name;
    private final List<String> wrong = new ArrayList<>();

    Blueprint(Object instance, Method method) {
      this.instance = instance;
      this.method = method;
      this.options = options(method);
      this.name = name(method);
    }

    /** The tool; null if something is wrong. */
    @Nullable Tool tool() {
      checkMethod();
      boolean withState =
          method.getParameterCount() > 0 && method.getParameterTypes()[0] == FlowState.class;
      List<Parameter> parameters =
          Arrays.asList(method.getParameters())
              .subList(withState ? 1 : 0, method.getParameterCount());
      Class<? extends Record> record = record(parameters);
      List<ArgumentSchema.Argument> arguments =
          record == null ? parameters.stream().map(this::argument).toList() : List.of();
      ArgumentSchema schema = schema(record, arguments);
      if (schema == null) {
        return null;
      }
      Tool tool = Tool.of(name, options.value(), schema, handler(withState, record, arguments));
      tool = options.once() ? tool.once() : tool;
      return options.approval().isBlank() ? tool : tool.approval(options.approval());
    }

    private void wrong(String reason) {
      wrong.add(signature(method) + ": " + reason);
    }

    private void checkMethod() {
      if (hidden(method)) {
        wrong("is not public; make it public");
      } else {
        try {
          method.setAccessible(true);
        } catch (InaccessibleObjectException e) {
          wrong("cannot be called from here; open its package to io.fermata.agent");
        }
      }
      if (!Tool.NAME.matcher(name).matches()) {
        wrong(
            "its name \"%s\" is not 1 to 64 of letters, digits, _ and -; rename it"
                .formatted(name));
      }
      if (options.value().isBlank()) {
        wrong("has no description; describe for the model when to call it");
      }
    }

    private static @Nullable Class<? extends Record> record(List<Parameter> parameters) {
      boolean whole =
          parameters.size() == 1
              && parameters.get(0).getType().isRecord()
              && !parameters.get(0).isAnnotationPresent(Arg.class);
      return whole ? parameters.get(0).getType().asSubclass(Record.class) : null;
    }

    private ArgumentSchema.Argument argument(Parameter parameter) {
      Arg arg = parameter.getAnnotation(Arg.class);
      String called = arg == null ? parameter.getName() : arg.value();
      boolean optional = ArgumentSchema.isNullable(parameter, parameter.getAnnotatedType());
      Class<?> type = parameter.getType();
      if (arg == null && !parameter.isNamePresent()) {
        wrong(
            "the name of its parameter %s is not in the class file; compile with -parameters, or name it: @Arg(\"…\")"
                .formatted(called));
      }
      if (type == FlowState.class) {
        wrong("takes the FlowState at %s; it can only be the first parameter".formatted(called));
      } else if (type == Optional.class) {
        wrong("%s is an Optional; say @Nullable instead".formatted(called));
      } else if (type.isPrimitive() && optional) {
        wrong(
            "%s is @Nullable and cannot be null; make it the object type of %s"
                .formatted(called, type));
      }
      for (Annotation annotation : parameter.getAnnotations()) {
        if (annotation.annotationType().getName().startsWith("jakarta.validation.")) {
          wrong(
              "@%s at %s has no effect on a parameter; take a record that has it"
                  .formatted(annotation.annotationType().getSimpleName(), called));
        }
      }
      Describe describe = parameter.getAnnotation(Describe.class);
      return new ArgumentSchema.Argument(
          called,
          parameter.getParameterizedType(),
          !optional,
          describe == null ? null : describe.value());
    }

    private @Nullable ArgumentSchema schema(
        @Nullable Class<? extends Record> record, List<ArgumentSchema.Argument> arguments) {
      Set<String> names = new LinkedHashSet<>();
      arguments.stream()
          .map(ArgumentSchema.Argument::name)
          .filter(argument -> !names.add(argument))
          .forEach(twice -> wrong("two parameters are named %s; rename one".formatted(twice)));
      if (!wrong.isEmpty()) {
        return null;
      }
      try {
        return record == null ? ArgumentSchema.of(arguments) : ArgumentSchema.of(record);
      } catch (IllegalArgumentException e) {
        wrong(AuthorFailures.reason(e));
        return null;
      }
    }

    private ToolHandler<ObjectNode> handler(
        boolean withState,
        @Nullable Class<? extends Record> record,
        List<ArgumentSchema.Argument> arguments) {
      return (flow, given) -> {
        List<@Nullable Object> values = new ArrayList<>();
        if (withState) {
          values.add(flow);
        }
        if (record != null) {
          values.add(Json.value(given, record));
        }
        for (ArgumentSchema.Argument argument : arguments) {
          JsonNode value = given.get(argument.name());
          values.add(value == null || value.isNull() ? null : Json.value(value, argument.type()));
        }
        return invoke(values.toArray());
      };
    }

    private @Nullable Object invoke(@Nullable Object[] values) throws Exception {
      try {
        return method.invoke(instance, values);
      } catch (InvocationTargetException e) {
        Throwable thrown = AuthorFailures.survivable(e.getTargetException());
        throw thrown instanceof Exception exception
            ? exception
            : new IllegalStateException(AuthorFailures.reason(thrown), thrown);
      }
    }
  }
}
