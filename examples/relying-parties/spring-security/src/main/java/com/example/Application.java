package com.example;

import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.HttpSession;
import java.io.IOException;
import java.time.Duration;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.oauth2.client.OAuth2AuthorizedClient;
import org.springframework.security.oauth2.client.OAuth2AuthorizedClientManager;
import org.springframework.security.oauth2.client.OAuth2AuthorizedClientProviderBuilder;
import org.springframework.security.oauth2.client.annotation.RegisteredOAuth2AuthorizedClient;
import org.springframework.security.oauth2.client.oidc.web.logout.OidcClientInitiatedLogoutSuccessHandler;
import org.springframework.security.oauth2.client.registration.ClientRegistrationRepository;
import org.springframework.security.oauth2.client.web.DefaultOAuth2AuthorizedClientManager;
import org.springframework.security.oauth2.client.web.OAuth2AuthorizedClientRepository;
import org.springframework.security.oauth2.core.oidc.user.OidcUser;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.security.web.csrf.CsrfToken;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.util.HtmlUtils;

/** A web application that signs users in with Spring Security. */
@SpringBootApplication
@RestController
public class Application {
  public static void main(String[] arguments) {
    SpringApplication.run(Application.class, arguments);
  }

  @Bean
  SecurityFilterChain security(HttpSecurity http, ClientRegistrationRepository clients) throws Exception {
    // Signing out of the application also signs the user out of Gatehouse.
    var logout = new OidcClientInitiatedLogoutSuccessHandler(clients);
    logout.setPostLogoutRedirectUri("{baseUrl}/");
    return http.authorizeHttpRequests(paths -> paths.requestMatchers("/").permitAll().anyRequest().authenticated())
        .oauth2Login(Customizer.withDefaults())
        .logout(settings -> settings.logoutSuccessHandler(logout))
        .build();
  }

  @GetMapping("/")
  String home(@AuthenticationPrincipal OidcUser user, HttpSession session, CsrfToken csrf) {
    if (user == null) {
      return "<h1>You are not signed in</h1><a href='/oauth2/authorization/gatehouse'>Sign in</a>";
    }
    return """
        <h1>Signed in as %s</h1>
        <p>%s</p>
        <a href="/refresh">Refresh</a>
        <form method="post" action="/logout">
          <input type="hidden" name="%s" value="%s"><button>Sign out</button>
        </form>
        """
        .formatted(
            HtmlUtils.htmlEscape(user.getEmail()),
            session.getAttribute("token") == null ? "" : "Tokens refreshed",
            csrf.getParameterName(),
            csrf.getToken());
  }

  /** The parameter `client` has an access token that the manager below has refreshed. */
  @GetMapping("/refresh")
  void refresh(
      @RegisteredOAuth2AuthorizedClient("gatehouse") OAuth2AuthorizedClient client,
      HttpSession session,
      HttpServletResponse response)
      throws IOException {
    session.setAttribute("token", client.getAccessToken().getTokenValue());
    response.sendRedirect("/");
  }

  /** Refreshes on each use. An application leaves `clockSkew` out: the default refreshes a minute before the expiry. */
  @Bean
  OAuth2AuthorizedClientManager clientManager(
      ClientRegistrationRepository clients, OAuth2AuthorizedClientRepository store) {
    var manager = new DefaultOAuth2AuthorizedClientManager(clients, store);
    manager.setAuthorizedClientProvider(
        OAuth2AuthorizedClientProviderBuilder.builder()
            .authorizationCode()
            .refreshToken(refresh -> refresh.clockSkew(Duration.ofDays(21)))
            .build());
    return manager;
  }
}
