import { deviceFindings } from './device-findings.ts';
import type { CheckedInbound, TunFinding, MachineFacts, Severity } from './facts.ts';
import { forwardFindings } from './forward-findings.ts';
import { Machine } from './machine.ts';
import { resolverFindings } from './resolver-findings.ts';
import { routeFindings } from './route-findings.ts';

/** Order of severities in a report. */
const ORDER: Readonly<Record<Severity, number>> = { breaks: 0, leaks: 1, note: 2 };

/** Findings about a TUN inbound on a machine, the most severe first. */
export function findingsOf(facts: MachineFacts, inbound: CheckedInbound): readonly TunFinding[] {
  const machine = new Machine(facts, inbound);
  return [
    ...deviceFindings(machine),
    ...routeFindings(machine),
    ...forwardFindings(machine),
    ...resolverFindings(machine),
  ].sort((one, other) => ORDER[one.severity] - ORDER[other.severity]);
}
