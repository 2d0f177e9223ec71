/** What a service manager passes on. */
export { openSystemCalls, type SystemCalls } from './platform/sockets/bindings.ts';
