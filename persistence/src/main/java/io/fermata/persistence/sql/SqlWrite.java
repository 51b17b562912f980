package io.fermata.persistence.sql;

import io.fermata.persistence.pekko.SerializedEntry;
import java.util.List;

/**
 * Records of one journal that are written together.
 *
 * @param right the right to write them, see {@link SqlShards#right}
 */
public record SqlWrite(long right, List<SerializedEntry> records) {

  static SqlWrite of(SqlShards shards, String persistenceId, List<SerializedEntry> records) {
    return new SqlWrite(shards.right(persistenceId), records);
  }

  long size() {
    return records.stream().mapToLong(SerializedEntry::size).sum();
  }
}
