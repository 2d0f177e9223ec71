/** Congestion controllers, their windows, rates and round-trip times. */
export { Bbr } from './bbr/bbr.ts';
export { Brutal } from './brutal.ts';
export {
  type AckEvent,
  type CongestionController,
  type CreateController,
  initialWindow,
  type LossEvent,
  type RateSample,
} from './controller.ts';
export { bbr, cubic, fixedRate, newReno } from './controllers.ts';
export { Cubic } from './cubic.ts';
export { SentFacts } from './delivery-rate.ts';
export { NewReno } from './classic-window.ts';
export { INITIAL_RTT, LEAST_TIME, RttEstimator } from './rtt.ts';
export { SendControl } from './send-control.ts';
