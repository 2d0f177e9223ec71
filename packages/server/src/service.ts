/** A process under a service manager. */
export { adoptSockets, takeServiceEnvironment } from './app/service/environment.ts';
export { openNotifier, ServiceNotifier } from './app/service/notifier.ts';
