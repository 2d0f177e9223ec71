import { parseArgs } from 'node:util';

/** What a run of the soak does, from its command line and the environment. */
export interface SoakOptions {
  /** Connections of the measured rounds together; the warm-up has as many as one of them more. */
  readonly connections: number;
  /** Reloads of the measured rounds together. */
  readonly reloads: number;
  readonly rounds: number;
  /** Clients at once. */
  readonly parallel: number;
  readonly seed: number;
  /**
   * Seconds of silence before each sample. Datagrams over Shadowsocks, whose associations end only
   * after 300 s of silence, are part of the mix when the rest is longer than that.
   */
  readonly restSeconds: number;
  /** Seconds for all connections of the run, which makes do with fewer; 0 for no limit. */
  readonly seconds: number;
  /** Only the kinds of client whose name matches. */
  readonly kinds: RegExp;
  /** Only the tunnels whose tag matches. */
  readonly tunnels: RegExp;
}

/** After this long no Shadowsocks association is left. */
export const FULL_REST_SECONDS = 305;

export const withShadowsocksDatagrams = ({ restSeconds }: SoakOptions): boolean =>
  restSeconds >= FULL_REST_SECONDS;

/** A line through fewer than four samples is no evidence. */
const LEAST_ROUNDS = 4;

/** The options that are whole numbers, each with its default and its least value. */
const WHOLE = {
  connections: [4_000, LEAST_ROUNDS],
  reloads: [100, 0],
  rounds: [5, LEAST_ROUNDS],
  parallel: [48, 1],
  seed: [1, 0],
  rest: [0, 0],
  seconds: [0, 0],
} as const;

export const USAGE = `Usage: npm run soak -- [OPTION]...

  --connections N  connections of the measured rounds together (${WHOLE.connections[0]})
  --reloads N      reloads of the measured rounds together (${WHOLE.reloads[0]})
  --rounds N       measured rounds, at least ${LEAST_ROUNDS}, after one to warm up (${WHOLE.rounds[0]})
  --parallel N     clients at once (${WHOLE.parallel[0]})
  --seconds N      time for all connections, which are fewer then if need be; 0: no limit (0)
  --rest N         seconds of silence before each sample (0); from ${FULL_REST_SECONDS} on datagrams over
                   Shadowsocks are part of the mix
  --seed N         of everything that is chosen at random (${WHOLE.seed[0]})
  --kinds RE       only the kinds of client whose name matches
  --tunnels RE     only the tunnels whose tag matches
  --help           this text

Each option has a variable as well, such as WEIR_SOAK_CONNECTIONS; the option wins.
`;

/**
 * @param args the command line after the program.
 * @returns `help` when that is asked for.
 * @throws {Error} naming an option that is unknown, or not a whole number of at least its least value.
 */
export function optionsOf(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): SoakOptions | 'help' {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      connections: text,
      reloads: text,
      rounds: text,
      parallel: text,
      seed: text,
      rest: text,
      seconds: text,
      kinds: text,
      tunnels: text,
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) return 'help';
  const given = (name: keyof typeof WHOLE | 'kinds' | 'tunnels') =>
    values[name] ?? env[`WEIR_SOAK_${name.toUpperCase()}`];
  const whole = (name: keyof typeof WHOLE): number => {
    const [fallback, least] = WHOLE[name];
    const value = Number(given(name) ?? fallback);
    if (Number.isSafeInteger(value) && value >= least) return value;
    throw new Error(`--${name} is not a whole number of at least ${least}: ${given(name)}`);
  };
  return {
    connections: whole('connections'),
    reloads: whole('reloads'),
    rounds: whole('rounds'),
    parallel: whole('parallel'),
    seed: whole('seed'),
    restSeconds: whole('rest'),
    seconds: whole('seconds'),
    kinds: new RegExp(given('kinds') ?? ''),
    tunnels: new RegExp(given('tunnels') ?? ''),
  };
}
