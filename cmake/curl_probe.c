/* SPDX-License-Identifier: Apache-2.0 */
/* Tried by cmake/curl.cmake: does libcurl link from its archive? */
#include <curl/curl.h>

int main(void)
{
    CURL *easy = curl_easy_init();
    return curl_easy_perform(easy);
}
