// A mail server for tests. It prints "READY port", then each message as one line of
// JSON, and ends with its standard input.
//
// Environment: CERT and KEY (PEM) offer STARTTLS; IMPLICIT=1 uses TLS from the start;
// MAIL_USER and MAIL_PASSWORD require a sign-in; REJECT is a recipient to reject;
// SILENT=1 never responds to a message.
import { SMTPServer } from "smtp-server";

const { CERT, KEY, IMPLICIT, MAIL_USER, MAIL_PASSWORD, REJECT, SILENT, PORT = "0" } = process.env;
const hidden = CERT ? [] : ["STARTTLS"];

const server = new SMTPServer({
  secure: IMPLICIT === "1",
  ...(CERT ? { cert: CERT, key: KEY } : {}),
  disabledCommands: MAIL_USER ? hidden : [...hidden, "AUTH"],
  allowInsecureAuth: !CERT,
  authMethods: ["PLAIN", "LOGIN"],
  authOptional: !MAIL_USER,
  disableReverseLookup: true,
  onAuth(auth, session, done) {
    const right = auth.username === MAIL_USER && auth.password === MAIL_PASSWORD;
    done(right ? null : new Error("Invalid username or password"), right ? { user: auth.username } : undefined);
  },
  onRcptTo(address, session, done) {
    done(address.address === REJECT ? Object.assign(new Error("No such mailbox"), { responseCode: 550 }) : null);
  },
  onData(stream, session, done) {
    const chunks = [];
    stream.on("data", (chunk) => chunks.push(chunk));
    stream.on("end", () => {
      const { mailFrom, rcptTo } = session.envelope;
      console.log(JSON.stringify({ from: mailFrom.address, to: rcptTo.map((r) => r.address), secure: session.secure, user: session.user || "", raw: Buffer.concat(chunks).toString() }));
      if (SILENT !== "1") done();
    });
  },
});
server.on("error", (error) => console.error(error.message)); // such as a client that hangs up during a handshake
const listening = server.listen(Number(PORT), "127.0.0.1", () => console.log(`READY ${listening.address().port}`));
process.stdin.on("end", () => process.exit(0)).resume();
