/** Metrics of a running Weir for Prometheus. */
export { collect } from './metrics/collect.ts';
export { expositionText } from './metrics/exposition.ts';
export { STANDARD_LISTEN, startMetricsServer } from './metrics/metrics-server.ts';
export { type MetricSnapshot, type MetricSources, SnapshotTaker } from './metrics/snapshot.ts';
