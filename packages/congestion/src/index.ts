/** Congestion controllers, their windows, rates and round-trip times. */
export { type CreateController, initialWindow } from './controller.ts';
export { bbr, cubic, fixedRate } from './controllers.ts';
export { SentFacts } from './delivery-rate.ts';
export { INITIAL_RTT, LEAST_TIME, RttEstimator } from './rtt.ts';
export { SendControl } from './send-control.ts';
