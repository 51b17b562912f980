package io.fermata.session.admin;

/** A request to a thread, or to the list of runs, failed. The code is stable. */
public final class ThreadException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final String code;

  public ThreadException(String code, String message) {
    super(message);
    this.code = code;
  }

  /**
   * One of {@code unknown_thread}, {@code unknown_agent}, {@code unknown_file}, {@code
   * unknown_entry}, {@code unknown_message}, {@code unknown_prompt}, {@code busy}, {@code
   * invalid_message}, {@code key_used}, {@code message_too_long}, {@code file_too_large}, {@code
   * too_many_files}, {@code too_many_threads}, {@code thread_too_large}, {@code invalid_tags},
   * {@code invalid_env}, {@code invalid_query}, {@code no_open_question}, {@code missing_approval},
   * {@code missing_answers}, {@code overloaded}, {@code shutting_down}, {@code store_unavailable},
   * {@code not_kept}, {@code journal_unreadable}, {@code damaged}, {@code key_missing}, {@code
   * decryption_failed}.
   */
  public String code() {
    return code;
  }
}
