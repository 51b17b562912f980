CREATE TABLE fermata_meta (
  key TEXT NOT NULL PRIMARY KEY,
  value ANY NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "fermata_meta" VALUES('schema_version',2);
INSERT INTO "fermata_meta" VALUES('server_key',X'F20375CC692A926B3C7A14892B4755EE070239039D63466FA7ED9010A35E0AF3');
CREATE TABLE event_journal (
  ordering INTEGER NOT NULL PRIMARY KEY,
  deleted INTEGER NOT NULL DEFAULT 0,
  persistence_id TEXT NOT NULL,
  sequence_number INTEGER NOT NULL,
  writer TEXT NOT NULL,
  write_timestamp INTEGER NOT NULL,
  adapter_manifest TEXT NOT NULL,
  event_payload BLOB NOT NULL,
  event_ser_id INTEGER NOT NULL,
  event_ser_manifest TEXT NOT NULL,
  meta_payload BLOB,
  meta_ser_id INTEGER,
  meta_ser_manifest TEXT,
  checksum INTEGER NOT NULL,
  previous INTEGER,
  UNIQUE (persistence_id, sequence_number)
) STRICT;
INSERT INTO "event_journal" VALUES(1,0,'idle',1,'4c576bb7-dcf8-4740-aa09-f6209c660158',1795289426254,'',X'6F6E65',19840,'Line',NULL,NULL,NULL,-1847061676,NULL);
INSERT INTO "event_journal" VALUES(2,0,'idle',2,'4c576bb7-dcf8-4740-aa09-f6209c660158',1795289426254,'',X'74776F',19840,'Line',NULL,NULL,NULL,-395714717,NULL);
INSERT INTO "event_journal" VALUES(3,0,'at work',1,'ca5f5742-e50c-4823-ad87-a060d2176bb3',1795289426334,'',X'7468726565',19840,'Line',NULL,NULL,NULL,536881963,NULL);
INSERT INTO "event_journal" VALUES(4,0,'at work',2,'ca5f5742-e50c-4823-ad87-a060d2176bb3',1795289426339,'',X'666F7572',19840,'Plan',NULL,NULL,NULL,447941907,NULL);
INSERT INTO "event_journal" VALUES(5,0,'waiting',1,'704da650-a9e3-4445-b698-6fde58f30cac',1795289426362,'',X'35',19840,'Appointment',NULL,NULL,NULL,-1310470488,NULL);
INSERT INTO "event_journal" VALUES(6,0,'long',1,'264d4832-009b-49c8-a43e-9b4e02692208',1795289426374,'',X'6C696E652031',19840,'Line',NULL,NULL,NULL,-1219992837,NULL);
INSERT INTO "event_journal" VALUES(7,0,'long',2,'264d4832-009b-49c8-a43e-9b4e02692208',1795289426388,'',X'6C696E652032',19840,'Line',NULL,NULL,NULL,731298497,NULL);
INSERT INTO "event_journal" VALUES(8,0,'long',3,'264d4832-009b-49c8-a43e-9b4e02692208',1795289426478,'',X'6C696E652033',19840,'Line',NULL,NULL,NULL,614540148,NULL);
INSERT INTO "event_journal" VALUES(9,0,'long',4,'264d4832-009b-49c8-a43e-9b4e02692208',1795289426498,'',X'6C696E652034',19840,'Line',NULL,NULL,NULL,-868977417,NULL);
CREATE TABLE directory (
  persistence_id TEXT NOT NULL PRIMARY KEY,
  kind TEXT NOT NULL,
  principal TEXT NOT NULL,
  name TEXT NOT NULL,
  seq INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  active_at INTEGER NOT NULL,
  labels TEXT NOT NULL,
  searchable TEXT NOT NULL
) STRICT;
INSERT INTO "directory" VALUES('idle','thread','ann','support',1,1,1,'{"attributes":{},"tags":["vip"]}','support
vip');
CREATE TABLE directory_tag (
  persistence_id TEXT NOT NULL
    REFERENCES directory (persistence_id) ON DELETE CASCADE,
  tag TEXT NOT NULL,
  kind TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  active_at INTEGER NOT NULL,
  PRIMARY KEY (persistence_id, tag)
) STRICT, WITHOUT ROWID;
CREATE TABLE event_tag (
  event_id INTEGER NOT NULL REFERENCES event_journal (ordering) ON DELETE CASCADE,
  tag TEXT NOT NULL,
  PRIMARY KEY (event_id, tag)
) STRICT, WITHOUT ROWID;
CREATE TABLE snapshot (
  persistence_id TEXT NOT NULL,
  sequence_number INTEGER NOT NULL,
  created INTEGER NOT NULL,
  snapshot_ser_id INTEGER NOT NULL,
  snapshot_ser_manifest TEXT NOT NULL,
  snapshot_payload BLOB NOT NULL,
  meta_ser_id INTEGER,
  meta_ser_manifest TEXT,
  meta_payload BLOB,
  last INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (persistence_id, sequence_number)
) STRICT;
INSERT INTO "directory_tag" VALUES('idle','vip','thread',1,1);
INSERT INTO "event_tag" VALUES(5,'due:0000000000000000005');
INSERT INTO "event_tag" VALUES(4,'working');
INSERT INTO "snapshot" VALUES('long',2,1795289426391,19840,'Page',X'6C696E6520310A6C696E652032',NULL,NULL,NULL,731298497,-910212858);
INSERT INTO "snapshot" VALUES('long',4,1795289426512,19840,'Page',X'6C696E6520310A6C696E6520320A6C696E6520330A6C696E652034',NULL,NULL,NULL,-868977417,205894878);
CREATE INDEX event_tag_by_tag ON event_tag (tag, event_id);
CREATE INDEX directory_active ON directory (kind, active_at);
CREATE INDEX directory_created ON directory (kind, created_at);
CREATE INDEX directory_active_principal
ON directory (kind, principal, active_at);
CREATE INDEX directory_created_principal
ON directory (kind, principal, created_at);
CREATE INDEX directory_active_name
ON directory (kind, name, active_at);
CREATE INDEX directory_created_name
ON directory (kind, name, created_at);
CREATE INDEX directory_tag_active
ON directory_tag (kind, tag, active_at, persistence_id);
CREATE INDEX directory_tag_created
ON directory_tag (kind, tag, created_at, persistence_id);
