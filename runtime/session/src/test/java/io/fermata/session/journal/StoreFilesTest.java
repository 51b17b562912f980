package io.fermata.session.journal;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.json.Json;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests that say that a text is nowhere in a store's files would find it if it were. */
class StoreFilesTest {
  @Test
  void aTextIsFoundWhereverItLies(@TempDir Path folder) throws IOException {
    String text = "Where to? To Rumpelstiltskin";
    ByteArrayOutputStream page = new ByteArrayOutputStream();
    page.write(new byte[] {1, 1, 0, 9, 1});
    page.write(JournalSerializer.cbor(Json.object().put("question", text)));
    page.write(new byte[] {1, 0, 1, 1});
    Files.write(folder.resolve("store.db-wal"), page.toByteArray());

    assertThat(new StoreFiles(folder).with(text)).containsExactly("store.db-wal");
    assertThat(new StoreFiles(folder).with("Repunzel")).isEmpty();
  }
}
