import type { Config } from './config-types.ts';

/** A configuration as the text of a file. */
export interface ConfigText {
  /** TOML. */
  readonly text: string;
  /** The directory of relative paths in the text; the process's working directory by default. */
  readonly directory?: string | undefined;
}

/** A configuration: the path of a file, the text of one, or an object. */
export type ConfigInput = string | ConfigText | Config;
