// A web application that signs users in with the OpenID Connect handler of ASP.NET Core.
using System.Net;
using Microsoft.AspNetCore.Authentication;
using Microsoft.AspNetCore.Authentication.Cookies;
using Microsoft.AspNetCore.Authentication.OpenIdConnect;

var builder = WebApplication.CreateBuilder(args);
var settings = builder.Configuration;
builder.WebHost.UseUrls($"http://localhost:{settings["PORT"] ?? "8080"}");

builder.Services
    .AddAuthentication(options =>
    {
        options.DefaultScheme = CookieAuthenticationDefaults.AuthenticationScheme;
        options.DefaultChallengeScheme = OpenIdConnectDefaults.AuthenticationScheme;
    })
    .AddCookie()
    .AddOpenIdConnect(options =>
    {
        options.Authority = settings["ISSUER"];
        options.ClientId = settings["CLIENT_ID"];
        options.ClientSecret = settings["CLIENT_SECRET"];
        // The default of the handler is id_token, which is the implicit flow.
        options.ResponseType = "code";
        options.Scope.Add("email");
        options.Scope.Add("offline_access");
        // Keeps the tokens in the cookie of the application, for sign-out and refresh.
        options.SaveTokens = true;
        // The ID token identifies the user; name and email come from /userinfo.
        options.GetClaimsFromUserInfoEndpoint = true;
        // Keeps the names of the claims, such as email.
        options.MapInboundClaims = false;
        // Only for a Gatehouse on this machine.
        options.RequireHttpsMetadata = !settings["ISSUER"]!.StartsWith("http://localhost");
    });
builder.Services.AddAuthorization();

var app = builder.Build();
app.UseAuthentication();
app.UseAuthorization();

app.MapGet("/", (HttpContext context) =>
{
    var email = context.User.FindFirst("email")?.Value;
    return Results.Content(
        email is null
            ? "<h1>You are not signed in</h1><a href='/login'>Sign in</a>"
            : $"<h1>Signed in as {WebUtility.HtmlEncode(email)}</h1><a href='/logout'>Sign out</a>",
        "text/html");
});
app.MapGet("/login", () => Results.Challenge(new AuthenticationProperties { RedirectUri = "/" }));
// Signs out of the application and of Gatehouse.
app.MapGet("/logout", () => Results.SignOut(
    new AuthenticationProperties { RedirectUri = "/" },
    [CookieAuthenticationDefaults.AuthenticationScheme, OpenIdConnectDefaults.AuthenticationScheme]));

app.Run();
