package io.fermata.session.journal;

/** Marks the types of {@link JournalSerializer}: entries and snapshots. */
interface Journaled {}
