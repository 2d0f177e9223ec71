import {
  colourFormat,
  jsonFormat,
  plainFormat,
  textFormat,
  withPriority,
  type LineFormat,
} from './line-format.ts';

/** Inputs that determine the format of a log. */
export interface LogSurroundings {
  readonly terminal: boolean;
  /** Whether a journal reads the log. */
  readonly journal: boolean;
  /** The value of `WEIR_LOG`. */
  readonly wanted: string | undefined;
  /** The value of `NO_COLOR`: no colour if it is not empty. */
  readonly noColour: string | undefined;
}

export interface ChosenFormat {
  readonly format: LineFormat;
  /** The error of an invalid choice, to be logged. */
  readonly problem: string | undefined;
}

/** Chooses the format of a process's log. An unknown `WEIR_LOG` counts as `text`. */
export function chooseFormat({
  terminal,
  journal,
  wanted = '',
  noColour = '',
}: LogSurroundings): ChosenFormat {
  const text = terminal && noColour === '' ? colourFormat : textFormat;
  const line = wanted === 'json' ? jsonFormat : journal ? plainFormat : text;
  const isKnown = wanted === '' || wanted === 'json' || wanted === 'text';
  return {
    format: journal ? withPriority(line) : line,
    problem: isKnown
      ? undefined
      : `WEIR_LOG=${JSON.stringify(wanted)} is neither "json" nor "text": writing text`,
  };
}

/** Identifies a file, as fstat(2) does. */
export interface FileNumbers {
  readonly dev: bigint;
  readonly ino: bigint;
}

/**
 * Whether a file is the stream that systemd connected to the journal.
 * @param stream `JOURNAL_STREAM`, as in `8:12345`: systemd.exec(5).
 */
export const isJournal = (stream: string | undefined, { dev, ino }: FileNumbers): boolean =>
  stream === `${dev}:${ino}`;
