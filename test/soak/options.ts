/** What a run of the soak does, from the environment. */
export interface SoakOptions {
  /** Connections of the measured rounds together; the warm-up has as many as one round more. */
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
  /** Only the kinds of client whose name matches. */
  readonly kinds: RegExp;
  /** Only the tunnels whose tag matches. */
  readonly tunnels: RegExp;
}

/** After this long no Shadowsocks association is left. */
export const FULL_REST_SECONDS = 305;

export const withShadowsocksDatagrams = ({ restSeconds }: SoakOptions): boolean =>
  restSeconds >= FULL_REST_SECONDS;

/** @throws {Error} naming a variable that is not a whole number of at least its least value. */
export function optionsOf(env: Readonly<Record<string, string | undefined>>): SoakOptions {
  const whole = (name: string, fallback: number, least: number): number => {
    const text = env[`WEIR_SOAK_${name}`];
    const value = text === undefined ? fallback : Number(text);
    if (Number.isSafeInteger(value) && value >= least) return value;
    throw new Error(`WEIR_SOAK_${name} is not a whole number of at least ${least}: ${text}`);
  };
  // A line through fewer than four samples is no evidence.
  const LEAST_ROUNDS = 4;
  return {
    connections: whole('CONNECTIONS', 4_000, LEAST_ROUNDS),
    reloads: whole('RELOADS', 100, 0),
    rounds: whole('ROUNDS', 5, LEAST_ROUNDS),
    parallel: whole('PARALLEL', 48, 1),
    seed: whole('SEED', 1, 0),
    restSeconds: whole('REST', 0, 0),
    kinds: new RegExp(env['WEIR_SOAK_KINDS'] ?? ''),
    tunnels: new RegExp(env['WEIR_SOAK_TUNNELS'] ?? ''),
  };
}
