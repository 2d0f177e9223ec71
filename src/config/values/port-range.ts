import type { PortRangeSpec } from '../../spec.ts';

/** Why a text is no port and no range of ports. */
export interface PortProblem {
  readonly problem: string;
}

const SPEC = /^ *(?<low>\d+) *(?:- *(?<high>\d+) *)?$/;

/** Parses `<port>` or `<low>-<high>`, both inclusive, with spaces around the numbers as wanted. */
export function parsePortRange(text: string): PortRangeSpec | PortProblem {
  const groups = SPEC.exec(text)?.groups;
  if (!groups) return { problem: `${text}: expected <port> or <low>-<high>` };
  const low = Number(groups['low']);
  const high = groups['high'] === undefined ? low : Number(groups['high']);
  if (low > 0xffff || high > 0xffff) return { problem: `${text}: a port is at most 65535` };
  if (low > high) return { problem: `${text} has a lower bound above its upper bound` };
  return { low, high };
}
