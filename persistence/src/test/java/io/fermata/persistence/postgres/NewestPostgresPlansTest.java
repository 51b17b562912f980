package io.fermata.persistence.postgres;

import io.fermata.postgres.PostgresRelease;
import org.junit.jupiter.api.Tag;

@Tag("long")
final class NewestPostgresPlansTest extends PlansContract {

  NewestPostgresPlansTest() {
    super(PostgresRelease.NEWEST_SUPPORTED);
  }
}
