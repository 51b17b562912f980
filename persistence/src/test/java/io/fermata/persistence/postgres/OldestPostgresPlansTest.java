package io.fermata.persistence.postgres;

import io.fermata.postgres.PostgresRelease;
import org.junit.jupiter.api.Tag;

@Tag("long")
final class OldestPostgresPlansTest extends PlansContract {

  OldestPostgresPlansTest() {
    super(PostgresRelease.OLDEST_SUPPORTED);
  }
}
