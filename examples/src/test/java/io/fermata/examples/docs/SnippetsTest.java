package io.fermata.examples.docs;

import static java.util.stream.Collectors.toCollection;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.Flow;
import io.fermata.flow.route.Condition;
import io.fermata.testkit.ScriptedModel;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Compiles every Java snippet of the documents as it is.
 *
 * <p>A block holds statements, which may declare records; {@code ```java members} holds members of
 * a class, {@code ```java file} whole types. A block with imports gets no others. A block without
 * imports gets all public types of Fermata, {@code Flow.*}, {@code Condition.*} and {@code
 * ScriptedModel.*}, and those of {@link #PACKAGES}. The comments {@code <!-- java context … -->} of
 * a document declare the context of all its snippets. Statements are also run if the block says
 * {@code run}, and of members or a file the method named by {@code run=name}.
 */
class SnippetsTest {
  private static final List<String> PACKAGES =
      List.of(
          "java.io",
          "java.math",
          "java.net",
          "java.nio.file",
          "java.time",
          "java.util",
          "java.util.concurrent",
          "java.util.function",
          "java.util.stream",
          "org.junit.jupiter.api",
          "com.fasterxml.jackson.databind",
          "com.fasterxml.jackson.databind.node",
          "jakarta.validation.constraints",
          "org.jspecify.annotations");

  private static final List<Class<?>> STATIC =
      List.of(Flow.class, Condition.class, ScriptedModel.class);

  private static final Pattern WORD = Pattern.compile("\\b[A-Z]\\w*");
  private static final Pattern CLASS = Pattern.compile("(?m)^(?:public )?(?:final )?class (\\w+)");
  private static final String IMPORT = "import ";

  private final Types types = Types.ofRepository();
  private final Map<String, String> users = types.forUsers();

  @TempDir Path classes;

  /** A snippet as a Java file, and the place of its first line in its document. */
  private static final class Unit extends SimpleJavaFileObject {
    private final String name;
    private final Document.Block block;
    private final String head;
    private final String body;

    Unit(String name, Document.Block block, String head, String body) {
      super(URI.create("string:///" + name + ".java"), Kind.SOURCE);
      this.name = name;
      this.block = block;
      this.head = head;
      this.body = body;
    }

    @Override
    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
      return head + "\n" + body;
    }

    /** Each line of the block is a line of the file, after one line with the rest. */
    String described(Diagnostic<?> diagnostic) {
      long line = block.line() + diagnostic.getLineNumber() - 2;
      return block.document().path() + ":" + line + ": " + diagnostic.getMessage(Locale.ROOT);
    }
  }

  @Test
  void everySnippetCompilesAndThoseThatCanAreRun() throws Exception {
    List<Unit> units = new ArrayList<>();
    for (Document document : Document.all()) {
      units.addAll(units(document));
    }
    assertThat(units).hasSizeGreaterThan(20);

    assertThat(compile(units)).isEmpty();
    run(units);
  }

  private List<Unit> units(Document document) {
    String id = document.path().replaceAll("\\W", "_");
    List<Document.Block> contexts = document.blocks("context");
    List<Unit> units = new ArrayList<>();
    List<String> context = new ArrayList<>();
    for (Document.Block block : contexts) {
      String name = id + "_context" + block.line();
      String parent = context.isEmpty() ? "" : " extends " + context.get(context.size() - 1);
      units.add(unit(name, block, "class " + name + parent + " {", "}"));
      context.add(name);
    }
    String parent = context.isEmpty() ? "" : " extends " + context.get(context.size() - 1);
    for (Document.Block block : document.blocks("java")) {
      String name = block.is("file") ? declared(block) : id + "_" + block.line();
      String opened = "class " + name + parent + " {";
      if (block.is("file")) {
        units.add(unit(name, block, "", ""));
      } else if (block.is("members")) {
        units.add(unit(name, block, opened, "}"));
      } else {
        units.add(unit(name, block, opened + " static void run() throws Exception {", "}}"));
      }
    }
    return units;
  }

  /** Imports must come first, also those of a block that is not a whole file. */
  private Unit unit(String name, Document.Block block, String before, String after) {
    List<String> imports = new ArrayList<>();
    List<String> body = new ArrayList<>();
    for (String line : block.lines()) {
      boolean imported = line.startsWith(IMPORT);
      (imported ? imports : body).add(line);
      if (imported) {
        body.add("");
      }
    }
    if (imports.isEmpty()) {
      imports.addAll(imports(block));
    }
    return new Unit(
        name, block, String.join(" ", imports) + before, String.join("\n", body) + "\n" + after);
  }

  private Set<String> imports(Document.Block block) {
    Set<String> imports =
        WORD.matcher(String.join("\n", block.lines()))
            .results()
            .map(MatchResult::group)
            .filter(word -> !declares(block, word))
            .flatMap(word -> Stream.ofNullable(users.get(word)))
            .map(type -> IMPORT + type + ";")
            .collect(toCollection(LinkedHashSet::new));
    PACKAGES.forEach(pack -> imports.add(IMPORT + pack + ".*;"));
    STATIC.forEach(type -> imports.add(IMPORT + "static " + type.getName() + ".*;"));
    return imports;
  }

  private static boolean declares(Document.Block block, String type) {
    Pattern declaration = Pattern.compile("(class|record|enum|interface) " + type + "\\b");
    return block.lines().stream().anyMatch(line -> declaration.matcher(line).find());
  }

  /** The class that a whole file declares. */
  private static String declared(Document.Block block) {
    Matcher declaration = CLASS.matcher(String.join("\n", block.lines()));
    assertThat(declaration.find()).as("a class at " + block).isTrue();
    return declaration.group(1);
  }

  private List<String> compile(List<Unit> units) {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
    List<String> options =
        List.of(
            "-proc:none",
            "-nowarn",
            "-Xmaxerrs",
            "200",
            "-cp",
            System.getProperty("java.class.path"),
            "-d",
            classes.toString());
    compiler.getTask(null, null, found, options, null, units).call();
    return found.getDiagnostics().stream()
        .filter(diagnostic -> diagnostic.getKind() == Diagnostic.Kind.ERROR)
        .map(SnippetsTest::described)
        .toList();
  }

  private static String described(Diagnostic<? extends JavaFileObject> diagnostic) {
    return diagnostic.getSource() instanceof Unit unit
        ? unit.described(diagnostic)
        : diagnostic.getMessage(Locale.ROOT);
  }

  private void run(List<Unit> units) throws Exception {
    Map<Unit, String> methods = new LinkedHashMap<>();
    for (Unit unit : units) {
      String named = unit.block.value("run");
      if (unit.block.is("run") || !named.isEmpty()) {
        methods.put(unit, named.isEmpty() ? "run" : named);
      }
    }
    assertThat(methods).isNotEmpty();
    try (URLClassLoader loader = new URLClassLoader(new URL[] {classes.toUri().toURL()})) {
      for (Map.Entry<Unit, String> each : methods.entrySet()) {
        Unit unit = each.getKey();
        Class<?> type = loader.loadClass(unit.name);
        Method method = type.getDeclaredMethod(each.getValue());
        method.setAccessible(true);
        try {
          method.invoke(null);
        } catch (InvocationTargetException e) {
          throw new AssertionError("The snippet at " + unit.block + " failed", e.getCause());
        }
      }
    }
  }
}
