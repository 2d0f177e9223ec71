/** Measures outbounds. */
export {
  DEFAULT_PROBE_URL,
  DEFAULT_TOTAL_SECONDS,
  DEFAULT_TRIES,
  DEFAULT_TRY_SECONDS,
  type ProbedOutbound,
  type ProbedSpec,
  type ProbeTry,
  PHASE_NAMES,
} from './probe/contract.ts';
export { exchange, UrlLinks } from './probe/exchange.ts';
export { probeAll, probeEach } from './probe/probe-all.ts';
