package io.fermata.persistence.contract;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.NotSerializableException;
import java.util.List;
import org.apache.pekko.serialization.SerializerWithStringManifest;

/** Writes notes as text. */
public final class NoteSerializer extends SerializerWithStringManifest {

  @Override
  public int identifier() {
    return 19_840;
  }

  @Override
  public String manifest(Object note) {
    return note.getClass().getSimpleName();
  }

  @Override
  public byte[] toBinary(Object note) {
    return text(note).getBytes(UTF_8);
  }

  private static String text(Object note) {
    if (note instanceof Note.Line line) {
      return line.text();
    }
    if (note instanceof Note.Plan plan) {
      return plan.text();
    }
    if (note instanceof Note.Conclusion conclusion) {
      return conclusion.text();
    }
    if (note instanceof Note.Appointment appointment) {
      return Long.toString(appointment.at());
    }
    if (note instanceof Note.Page page) {
      return String.join("\n", page.lines());
    }
    throw new IllegalArgumentException("A " + note.getClass().getSimpleName() + " is not written");
  }

  @Override
  public Object fromBinary(byte[] bytes, String manifest) throws NotSerializableException {
    String text = new String(bytes, UTF_8);
    return switch (manifest) {
      case "Line" -> new Note.Line(text);
      case "Plan" -> new Note.Plan(text);
      case "Conclusion" -> new Note.Conclusion(text);
      case "Appointment" -> new Note.Appointment(Long.parseLong(text));
      case "Page" -> new Note.Page(text.isEmpty() ? List.of() : List.of(text.split("\n", -1)));
      default -> throw new NotSerializableException(manifest);
    };
  }
}
