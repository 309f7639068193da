// People sign in at `drawloom serve` with a real provider of OpenID Connect: story.mjs DRAWLOOM
//
// The provider is `oidc-provider`, which is certified; it lets in whoever is named in `account`, without a
// form. The browser is `fetch` with a jar of cookies.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Provider from "oidc-provider";

const drawloom = process.argv[2];
const SECRET = "a secret that the provider and the server share";
const PEOPLE = {
    "ada-1": { email: "ada@example.org", email_verified: true, name: "Ada Lovelace", preferred_username: "ada", groups: ["staff"] },
    "grace-1": { email: "grace@example.org", email_verified: true, name: "Grace Hopper", preferred_username: "ada", groups: ["boss"] },
    "eve-1": { email: "eve@example.org", email_verified: true, name: "Eve", preferred_username: "eve", groups: ["strangers"] },
    // The address of a person who has a password here.
    "mallory-1": { email: "root@example.org", email_verified: true, name: "Root", preferred_username: "root", groups: ["boss"] },
};
/** Who is at the browser. */
let account = "ada-1";

/** Listens at a free port, and returns its address. */
function listening(server) {
    return new Promise((resolve) => {
        server.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${server.address().port}`));
    });
}

/** A port that is free now: both sides have to know each other's address beforehand. */
async function freeAddress() {
    const probe = createServer();
    const address = await listening(probe);
    await new Promise((resolve) => probe.close(resolve));
    return address;
}

async function startProvider(server, method) {
    const http = createServer((request, response) => handle(request, response));
    const issuer = await listening(http);
    const provider = new Provider(issuer, {
        clients: [{
            client_id: "drawloom",
            client_secret: SECRET,
            redirect_uris: [`${server}/login/oidc/callback`],
            token_endpoint_auth_method: method,
        }],
        pkce: { required: () => true },
        claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "preferred_username"], groups: ["groups"] },
        scopes: ["openid", "profile", "email", "groups"],
        features: { devInteractions: { enabled: false } },
        findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...PEOPLE[id] }) }),
        interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
        cookies: { keys: ["a key of the provider's cookies"] },
    });
    const answer = provider.callback();
    async function handle(request, response) {
        if (!request.url.startsWith("/interaction/")) {
            answer(request, response);
            return;
        }
        const { prompt, params, session } = await provider.interactionDetails(request, response);
        if (prompt.name === "login") {
            await provider.interactionFinished(request, response, { login: { accountId: account } });
            return;
        }
        const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
        grant.addOIDCScope(params.scope);
        const grantId = await grant.save();
        await provider.interactionFinished(request, response, { consent: { grantId } }, { mergeWithLastSubmission: true });
    }
    return { issuer, stop: () => new Promise((resolve) => { http.closeAllConnections(); http.close(resolve); }) };
}

async function startServer(folder, address, issuer, more = {}) {
    const listen = address.replace("http://", "");
    const child = spawn(drawloom, ["serve", "--no-worker", "--listen", listen], {
        cwd: folder,
        env: {
            ...process.env,
            HOME: folder,
            XDG_CONFIG_HOME: join(folder, "config"),
            DRAWLOOM_TRUST_PROJECTS: folder,
            DRAWLOOM_ADMIN_EMAIL: "root@example.org",
            DRAWLOOM_ADMIN_PASSWORD_FILE: "password",
            DRAWLOOM_OIDC_ISSUER: issuer,
            DRAWLOOM_OIDC_CLIENT_ID: "drawloom",
            DRAWLOOM_OIDC_CLIENT_SECRET_FILE: "secret",
            DRAWLOOM_OIDC_SCOPES: "openid,profile,email,groups",
            DRAWLOOM_OIDC_ROLE_CLAIM: "groups",
            DRAWLOOM_OIDC_ROLES: "staff=operator,boss=admin",
            ...more,
        },
        stdio: ["ignore", "pipe", "inherit"],
    });
    await new Promise((resolve, reject) => {
        child.stdout.once("data", resolve);
        child.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
    });
    return { stop: () => new Promise((resolve) => { child.removeAllListeners("exit"); child.once("exit", resolve); child.kill("SIGTERM"); }) };
}

/** A browser as far as this needs one: it keeps cookies for each origin, and follows where it is led. */
class Browser {
    jar = new Map();

    async open(address) {
        for (let step = 0; step < 20; step += 1) {
            const url = new URL(address);
            const cookies = this.jar.get(url.origin) ?? new Map();
            const sent = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
            const response = await fetch(url, { redirect: "manual", headers: sent ? { cookie: sent } : {} });
            for (const line of response.headers.getSetCookie()) {
                const [pair] = line.split(";");
                const at = pair.indexOf("=");
                const isGone = /max-age=0\b/i.test(line) || /expires=thu, 01 jan 1970/i.test(line);
                if (isGone) cookies.delete(pair.slice(0, at));
                else cookies.set(pair.slice(0, at), pair.slice(at + 1));
            }
            this.jar.set(url.origin, cookies);
            const location = response.headers.get("location");
            if (!location) return { url, status: response.status, text: await response.text() };
            address = new URL(location, url).href;
            if (this.stopsAt?.(address)) return { url: new URL(address), status: 0, text: "" };
        }
        throw new Error("led in circles");
    }

    async who(server) {
        const { text } = await this.open(`${server}/api/v1/session`);
        return JSON.parse(text);
    }
}

async function main() {
    for (const method of ["client_secret_basic", "client_secret_post"]) {
        const folder = await mkdtemp(join(tmpdir(), "drawloom-provider-"));
        await writeFile(join(folder, "password"), "five words that no one puts together\n");
        await writeFile(join(folder, "secret"), `${SECRET}\n`);
        const address = await freeAddress();
        const provider = await startProvider(address, method);
        const more = { DRAWLOOM_OIDC_LABEL: method };
        const server = await startServer(folder, address, provider.issuer, more);
        try {
            await story(address, method);
        } finally {
            await server.stop();
            await provider.stop();
            await rm(folder, { recursive: true });
        }
        console.log(`signing in with ${method}: good`);
    }
}

async function story(server, method) {
    const login = await new Browser().open(`${server}/login`);
    assert.match(login.text, new RegExp(`Sign in with ${method}`));
    account = "ada-1";
    const ada = new Browser();
    const came = await ada.open(`${server}/login/oidc`);
    assert.equal(came.url.origin, server);
    assert.equal(came.status, 200, came.text);
    const known = await ada.who(server);
    assert.equal(known.displayName, "Ada Lovelace");
    assert.equal(known.role, "operator");
    const again = new Browser();
    await again.open(`${server}/login/oidc`);
    assert.equal((await again.who(server)).name, known.name, "the same person twice");
    // Another person with the same short name is another person.
    account = "grace-1";
    const grace = new Browser();
    await grace.open(`${server}/login/oidc`);
    const admin = await grace.who(server);
    assert.equal(admin.role, "admin");
    assert.notEqual(admin.name, known.name);
    // A role that is taken away is gone with the next sign-in.
    PEOPLE["grace-1"].groups = ["staff"];
    const less = new Browser();
    await less.open(`${server}/login/oidc`);
    assert.equal((await less.who(server)).role, "operator");
    PEOPLE["grace-1"].groups = ["boss"];
    for (const [who, says] of [["eve-1", "no role here"], ["mallory-1", "belongs to an account"]]) {
        account = who;
        const refused = new Browser();
        const answer = await refused.open(`${server}/login/oidc`);
        assert.ok(answer.status >= 400, `${who} ${answer.status}`);
        assert.match(answer.text, new RegExp(says), who);
        assert.equal((await refused.who(server)).code, "unauthorized", who);
    }
    // A code that came to one browser is of no use in another.
    account = "ada-1";
    const victim = new Browser();
    victim.stopsAt = (next) => next.includes("/login/oidc/callback");
    const stolen = await victim.open(`${server}/login/oidc`);
    const thief = new Browser();
    const answer = await thief.open(stolen.url.href);
    assert.equal(answer.status, 401);
    assert.match(answer.text, /not begun in this browser/);
    // It is good once, in its own.
    victim.stopsAt = undefined;
    assert.equal((await victim.open(stolen.url.href)).status, 200);
    assert.equal((await victim.who(server)).name, known.name);
    assert.equal((await victim.open(stolen.url.href)).status, 401);
}

await main();
