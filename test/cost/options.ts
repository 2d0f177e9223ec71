import { parseArgs } from 'node:util';

export const HELP = `The cost of clients without a password, found by search.

Usage: npm run cost -- [options]

Options:
  --inbound NAME    only the inbounds whose name has this text; may be given several times
  --seconds N       time of the search for each inbound (default: 20)
  --seed N          of the random numbers (default: 1)
  --markdown FILE   write the tables there as well
  --turns N         instead of the search: the longest turns of the event loop while N clients at once
                    (half as many in TLS) send each beginning that the search starts from
  --lasting N       instead of the search: small units that N connections send without end, over their life:
                    time a byte, echoes of another client, turns; status 1 when one delays others
  --worst FOLDER    write the costliest inputs there, as the tests replay them
  --verbose         print every input that is tried
  --list            print the names, and end
  --help            print this, and end
`;

export interface CostOptions {
  readonly inbounds: readonly string[];
  readonly seconds: number;
  readonly seed: number;
  readonly markdown: string | undefined;
  readonly worst: string | undefined;
  /** Clients at once for the longest turns; 0 for the search. */
  readonly turns: number;
  /** Connections that send small units without end; 0 for the search. */
  readonly lasting: number;
  readonly verbose: boolean;
  readonly list: boolean;
  readonly help: boolean;
}

/** @throws {Error} for an unknown option or a number that is not one. */
export function parseOptions(argv: readonly string[]): CostOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      inbound: { type: 'string', multiple: true },
      seconds: { type: 'string', default: '20' },
      seed: { type: 'string', default: '1' },
      markdown: { type: 'string' },
      worst: { type: 'string' },
      turns: { type: 'string', default: '0' },
      lasting: { type: 'string', default: '0' },
      verbose: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  return {
    inbounds: values.inbound ?? [],
    seconds: numberOf('--seconds', values.seconds),
    seed: numberOf('--seed', values.seed),
    markdown: values.markdown,
    worst: values.worst,
    turns: numberOf('--turns', values.turns),
    lasting: numberOf('--lasting', values.lasting),
    verbose: values.verbose,
    list: values.list,
    help: values.help,
  };
}

function numberOf(name: string, text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value >= 0 && text !== '') return value;
  throw new Error(`${name} is not a number: ${text}`);
}
