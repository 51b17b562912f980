package io.fermata.persistence.postgres;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.persistence.PostgresProbe;
import org.junit.jupiter.api.Test;

final class PostgresPartsTest {

  private final PostgresProbe database = PostgresProbe.fresh();

  @Test
  void everyTableIndexFunctionAndTriggerOfASchemaIsLookedFor() {
    database.store().open().close();
    String there =
        database.text(
            """
            SELECT string_agg(name, ' ' ORDER BY name COLLATE "C") FROM (
              SELECT relname::text AS name FROM pg_class
              WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i')
              UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
              UNION ALL SELECT 'trigger ' || tgname FROM pg_trigger WHERE NOT tgisinternal) AS part
            """);
    assertThat(String.join(" ", PostgresSchema.PARTS.names().stream().sorted().toList()))
        .isEqualTo(there);
  }
}
