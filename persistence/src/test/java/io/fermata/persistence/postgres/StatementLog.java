package io.fermata.persistence.postgres;

import io.fermata.postgres.PostgresServer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The statements that stores have sent to a server to find rows, with parameters, as its log shows
 * them.
 */
final class StatementLog {

  /** Settings of a server that logs them, and would find parallel workers cheap. */
  static final String[] SETTINGS = {
    "log_statement = all",
    "log_line_prefix = '@%u '",
    "parallel_setup_cost = 0",
    "parallel_tuple_cost = 0",
    "min_parallel_table_scan_size = 0",
    "min_parallel_index_scan_size = 0"
  };

  private static final Pattern EXECUTED =
      Pattern.compile("@fermata LOG:  execute [^:]+: (.*)", Pattern.DOTALL);

  private static final Pattern PARAMETERS =
      Pattern.compile("@fermata DETAIL:  [Pp]arameters: (.*)", Pattern.DOTALL);

  private static final Pattern PARAMETER = Pattern.compile("\\$\\d+ = (NULL|'(?:[^']++|'')*+')");

  /** The tables that grow with the sessions and the hosts. */
  static final Set<String> TABLES =
      Set.of(
          "event_journal",
          "event_tag",
          "snapshot",
          "directory",
          "directory_tag",
          "directory_text",
          "cluster_host",
          "cluster_lease");

  private static final Pattern TABLE = Pattern.compile("\\b(" + String.join("|", TABLES) + ")\\b");

  private StatementLog() {}

  /**
   * Every statement about journals, the directory and hosts, with its last parameters as literals.
   */
  static Map<String, List<String>> of(PostgresServer server) {
    Map<String, String> last = new LinkedHashMap<>();
    Map<String, Boolean> about = new HashMap<>();
    String executed = "";
    for (String message : server.log().split("\n(?=@)", -1)) {
      String text = message.replace("\n\t", "\n").strip();
      Matcher execution = EXECUTED.matcher(text);
      Matcher parameters = PARAMETERS.matcher(text);
      if (execution.matches()) {
        executed = execution.group(1).strip();
        if (about.computeIfAbsent(executed, StatementLog::isAboutTables)) {
          last.putIfAbsent(executed, "");
        }
      } else if (parameters.matches() && last.containsKey(executed)) {
        last.put(executed, parameters.group(1));
      }
    }
    Map<String, List<String>> statements = new LinkedHashMap<>();
    last.forEach((sql, parameters) -> statements.put(sql, literals(parameters)));
    return statements;
  }

  static boolean isAboutTables(String sql) {
    return sql.matches("(?s)(SELECT|INSERT|UPDATE|DELETE|WITH)\\b.*")
        && !sql.matches("(?s).*\\bpg_(?!catalog\\.).*")
        && TABLE.matcher(sql).find();
  }

  private static List<String> literals(String parameters) {
    List<String> literals = new ArrayList<>();
    Matcher each = PARAMETER.matcher(parameters);
    while (each.find()) {
      literals.add(each.group(1));
    }
    return literals;
  }
}
