import { WeirError, type WeirErrorOptions } from '@weir/base';
import type { Span, TableNode } from '@weir/proxy/schema';
import { type ConfigError, type ConfigErrorKind, lineText } from './errors.ts';
import type { Places } from './sources/source-text.ts';

interface FindingOptions extends WeirErrorOptions {
  /** The kind of the error; `invalid` by default. */
  readonly kind?: ConfigErrorKind;
  /** Whether the message has several lines, as in `ConfigErrorOptions`. */
  readonly severalLines?: boolean;
  /** A second place that the error concerns, for a hint with its line. */
  readonly other?: OtherPlace | undefined;
}

/** A second place of an error. */
interface OtherPlace {
  readonly span: Span;
  /** @param line `line 5`, or `nodes.toml:5` if it is in a different file than the error */
  readonly hint: (line: string) => string;
}

/** The place where a name was used before. @param which `first` or `other` */
export const namesakeAt = (which: 'first' | 'other', name: string, span: Span): OtherPlace => ({
  span,
  hint: (line) => `the ${which} ${JSON.stringify(name)} is at ${line}`,
});

/** Returns the hint for a missing key that was written below the header of `settings`; none if it is not there. */
export function strayInSettings(
  settings: TableNode | undefined,
  key: string,
): OtherPlace | undefined {
  const span = settings?.entries.get(key)?.key;
  const hint = (line: string): string =>
    `${key} is in settings (${line}): keys behind a [header] belong to its table, so write it above the header`;
  return span && { span, hint };
}

/** One error in a document of the right shape. */
export class Finding extends WeirError {
  /** The place of the error; `undefined` for an error of the document as a whole. */
  readonly span: Span | undefined;
  readonly kind: ConfigErrorKind;
  readonly severalLines: boolean;
  readonly other: OtherPlace | undefined;

  constructor(message: string, span?: Span, options: FindingOptions = {}) {
    const { kind = 'invalid', severalLines = false, other } = options;
    super(`config_${kind}`, message, options);
    this.span = span;
    this.kind = kind;
    this.severalLines = severalLines;
    this.other = other;
  }
}

/** An error within `settings`: the place orders it among other errors but is not shown. */
export class SettingsFinding extends Finding {}

/** Collects errors, to report the first in document order. */
export class Findings {
  #first: { readonly finding: Finding; readonly subject: string } | undefined;

  /** Returns a collector for one part of the document: `inbound socks`. */
  about(subject: string): PartFindings {
    return new PartFindings((finding) => {
      if (!this.#first || before(finding, this.#first.finding)) this.#first = { finding, subject };
    });
  }

  /** Returns the error to report: the first finding. */
  toError(places: Places): ConfigError | undefined {
    if (!this.#first) return undefined;
    const { finding, subject } = this.#first;
    const { kind, message, span, severalLines, other } = finding;
    const showsPlace = !(finding instanceof SettingsFinding);
    return places.error(kind, message, span, {
      cause: finding,
      subject,
      showsPlace,
      severalLines,
      hint: other?.hint(otherLine(places, other.span, span)),
    });
  }
}

function otherLine(places: Places, span: Span, from: Span | undefined): string {
  const other = places.locate(span.start);
  const { file, line } = other;
  const isSame = from === undefined || places.locate(from.start).file === file;
  return isSame || file === undefined ? lineText(other) : `${file}:${line}`;
}

/** The errors of one part of the document. */
export class PartFindings {
  readonly #add: (finding: Finding) => void;
  #failed = false;

  constructor(add: (finding: Finding) => void) {
    this.#add = add;
  }

  /** Whether an error has been added. */
  get failed(): boolean {
    return this.#failed;
  }

  /** Calls `work`. If it throws a Finding, adds the Finding and returns `undefined`. */
  attempt<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof Finding)) throw error;
      this.add(error);
      return undefined;
    }
  }

  add(finding: Finding): void {
    this.#failed = true;
    this.#add(finding);
  }
}

const before = (a: Finding, b: Finding): boolean => placeOf(a) < placeOf(b);

const placeOf = ({ span }: Finding): number => span?.start ?? Number.POSITIVE_INFINITY;
