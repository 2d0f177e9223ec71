import { configSchema } from '@weir/config/json-schema';
import { expectOperands, HELP_OPTION, parseOptions, type CommandIo } from '../command.ts';

const SCHEMA_HELP = `Usage: weir schema

Prints a JSON Schema of the configuration file, for editors. With

    #:schema ./weir.schema.json

as the first line of a configuration, Tombi and Taplo complete its keys and mark mistakes.
`;

/** `weir schema`: prints the JSON Schema of the configuration. Resolves with the exit status. */
export async function schemaCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = parseOptions(argv, HELP_OPTION);
  expectOperands('schema', positionals);
  const text =
    values.help === true ? SCHEMA_HELP : `${JSON.stringify(await configSchema(), null, 2)}\n`;
  io.stdout.write(text);
  return 0;
}
