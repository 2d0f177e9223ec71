/** What a reload and a drain have done, in words. */
export { outcomeLine, statusOf } from './app/service/status.ts';
