package io.fermata.bench.load;

import org.apache.pekko.serialization.SerializerWithStringManifest;

/** Writes the entries of bare sessions as they are. */
public final class EntrySerializer extends SerializerWithStringManifest {

  @Override
  public int identifier() {
    return 19_841;
  }

  @Override
  public String manifest(Object entry) {
    return "entry";
  }

  @Override
  public byte[] toBinary(Object entry) {
    return ((BareSession.Entry) entry).payload();
  }

  @Override
  public Object fromBinary(byte[] bytes, String manifest) {
    return new BareSession.Entry(bytes);
  }
}
