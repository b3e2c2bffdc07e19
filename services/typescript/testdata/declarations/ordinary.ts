declare const ordinary: {
  /** Creates a ticket. */
  "create_ticket"(args: {
    /** Key of the project. */
    project: string;
    /** @minLength 3 @maxLength 200 */
    title: string;
    /** @default low */
    priority?: "low" | "high";
    labels?: string[];
    /** @format date */
    due?: string;
    fields?: { [key: string]: string };
    watchers?: { user: string; notify?: boolean }[];
  }): Promise<{
    id: string;
    /** @format uri */
    url?: string;
  }>;
  /** Searches. */
  "search"(args: {
    query: string;
    /** @integer @minimum 1 @default 1 */
    page?: number;
    filters?: { status?: "open" | "done"; size?: { min?: number; max?: number } };
    sort?: string | string[];
  }): Promise<any>;
};
