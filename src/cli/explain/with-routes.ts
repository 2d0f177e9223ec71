import { loadRoutes, type LoadedRoutes } from '../../explain/load-routes.ts';
import { loadOrReport } from '../load.ts';

/**
 * Loads a configuration and calls `work`; the result is `undefined` if the configuration is invalid, which is reported.
 */
export const withRoutes = <T>(
  config: string | undefined,
  work: (routes: LoadedRoutes) => Promise<T>,
): Promise<T | undefined> => loadOrReport(config, {}, loadRoutes, work);
