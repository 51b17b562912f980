package io.fermata.agent.engine;

import io.fermata.agent.ThreadFiles;
import io.fermata.agent.message.Bounds;
import io.fermata.agent.message.FilePaths;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadStorage;
import io.fermata.flow.json.Texts;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/** The files of a thread for one effect, which records what the effect changes. */
final class RecordingFiles implements ThreadFiles {
  private final ChangeRecorder recorder;

  RecordingFiles(ChangeRecorder recorder) {
    this.recorder = recorder;
  }

  @Override
  public ThreadStorage.StoredFile write(String path, String mimeType, byte[] data) {
    String clean = FilePaths.clean(path);
    boolean isNew = !exists(clean);
    if (data.length > Bounds.FILE) {
      throw new IllegalArgumentException(
          "The file %s has %d bytes; a thread keeps files of at most %d"
              .formatted(clean, data.length, Bounds.FILE));
    } else if (isNew && recorder.state().stored().files().size() >= Bounds.FILES) {
      throw new IllegalArgumentException(
          "The thread has %d files already; delete some before writing %s"
              .formatted(Bounds.FILES, clean));
    }
    recorder.write(
        new ThreadEvent.FileWritten(clean, Texts.sound(mimeType), data.clone(), recorder.now()));
    return stat(clean);
  }

  @Override
  public ThreadStorage.StoredFile write(String path, String text) {
    return write(path, "text/plain", text.getBytes(StandardCharsets.UTF_8));
  }

  @Override
  public byte[] read(String path) throws InterruptedException {
    return recorder.bytes(stat(path));
  }

  @Override
  public String readText(String path) throws InterruptedException {
    return new String(read(path), StandardCharsets.UTF_8);
  }

  @Override
  public boolean exists(String path) {
    return recorder.state().stored().files().containsKey(FilePaths.clean(path));
  }

  @Override
  public ThreadStorage.StoredFile stat(String path) {
    ThreadStorage.StoredFile file = recorder.state().stored().files().get(FilePaths.clean(path));
    if (file == null) {
      throw new IllegalArgumentException("The thread has no file " + FilePaths.clean(path));
    }
    return file;
  }

  @Override
  public List<String> list(String prefix) {
    return List.copyOf(
        RecordingFlowState.startingWith(
            recorder.state().stored().files().keySet(), FilePaths.clean(prefix)));
  }

  @Override
  public List<String> find(String glob) {
    Pattern pattern = FilePaths.glob(FilePaths.clean(glob));
    return list("/").stream().filter(path -> pattern.matcher(path).matches()).toList();
  }

  @Override
  public List<Match> grep(String regex, String prefix) throws InterruptedException {
    Pattern pattern = Pattern.compile(regex);
    List<Match> matches = new ArrayList<>();
    for (String path : list(prefix)) {
      if (stat(path).mimeType().startsWith("text/")) {
        List<String> lines = readText(path).lines().toList();
        for (int i = 0; i < lines.size(); i++) {
          if (pattern.matcher(lines.get(i)).find()) {
            matches.add(new Match(path, i + 1, lines.get(i)));
          }
        }
      }
    }
    return matches;
  }

  @Override
  public void delete(String path) {
    recorder.write(new ThreadEvent.FileRemoved(stat(path).path()));
  }

  @Override
  public void move(String path, String to) {
    recorder.write(new ThreadEvent.FileMoved(stat(path).path(), FilePaths.clean(to)));
  }
}
